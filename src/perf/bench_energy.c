/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of processors and GPUs: counters that only grow, and that are read before and after each
 * slice. RAPL has a file for each processor package, which often only root may read; NVML is opened
 * at run time. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dl.h"
#include "base/file.h"
#include "perf/bench.h"

enum { PACKAGES = 64, GPUS = 64 };

typedef struct rapl_package {
    char *path; /* its counter, in uJ */
    uint64_t range, last,
        passed; /* it begins again at 0 after `range`; uJ since the first reading */
} rapl_package;

typedef void *nvml_device;
typedef struct nvml_api {
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *);
    int (*device)(unsigned, nvml_device *);
    int (*energy)(nvml_device, unsigned long long *); /* in mJ */
    const char *(*error)(int);
} nvml_api;

struct bench_energy {
    rapl_package packages[PACKAGES];
    size_t package_count;
    nvml_api nvml;
    nvml_device gpus[GPUS];
    size_t gpu_count;
    bool nvml_open;
    str text;
};

/* ---- RAPL ------------------------------------------------------------------------------------ */

static bool read_number(uint64_t *out, const char *path)
{
    FILE *f = fopen(path, "re");
    if (!f) return false;
    const bool good = fscanf(f, "%" SCNu64, out) == 1;
    fclose(f);
    return good;
}

static bool is_package(const char *folder)
{
    char name[16] = "";
    char *path = path_join(folder, "name");
    FILE *f = path ? fopen(path, "re") : NULL;
    if (f) {
        if (!fgets(name, sizeof name, f)) name[0] = 0;
        fclose(f);
    }
    mem_free(path);
    return str_starts_with(name, "package");
}

/* Adds the package of a folder. Returns 0 or the reason as an errno. */
static int add_package(bench_energy *e, const char *folder)
{
    rapl_package p = {.path = path_join(folder, "energy_uj")};
    char *range = path_join(folder, "max_energy_range_uj");
    errno = 0;
    const bool good = p.path && range && read_number(&p.last, p.path);
    const int why = good ? 0 : errno ? errno : EIO;
    if (good && !read_number(&p.range, range)) p.range = 0;
    mem_free(range);
    if (good && e->package_count < PACKAGES)
        e->packages[e->package_count++] = p;
    else
        mem_free(p.path);
    return why;
}

static void open_rapl(bench_energy *e, const char *powercap)
{
    strvec names = {0};
    int why = 0;
    const bool listed = !file_list_dir(&names, powercap, "", NULL);
    for (size_t i = 0; listed && i < names.count; i++) {
        char *folder = path_join(powercap, names.items[i]);
        if (folder && is_package(folder)) {
            const int failure = add_package(e, folder);
            if (failure) why = failure;
        }
        mem_free(folder);
    }
    strvec_deinit(&names);
    str_append(&e->text, "CPU ");
    /* Some of the packages would be a wrong sum. */
    for (size_t i = 0; why && i < e->package_count; i++) mem_free(e->packages[i].path);
    if (why) e->package_count = 0;
    if (e->package_count)
        str_printf(&e->text, "from RAPL (%zu package%s)", e->package_count,
                   e->package_count == 1 ? "" : "s");
    else if (why)
        str_printf(&e->text, "unknown (RAPL's counters cannot be read: %s)", strerror(why));
    else
        str_printf(&e->text, "unknown (no RAPL counters in %s)", powercap);
}

static double read_rapl(bench_energy *e)
{
    double sum = 0;
    for (size_t i = 0; i < e->package_count; i++) {
        rapl_package *p = &e->packages[i];
        uint64_t now;
        if (!read_number(&now, p->path)) return -1;
        const bool wrapped = now < p->last, known = !wrapped || p->range >= p->last;
        if (known) p->passed += wrapped ? p->range - p->last + now : now - p->last;
        p->last = now;
        if (!known) return -1;
        sum += (double)p->passed / 1e6;
    }
    return e->package_count ? sum : -1;
}

/* ---- NVML ------------------------------------------------------------------------------------ */

static bool open_library(nvml_api *api, str *why)
{
    static const char *const NAMES[] = {"libnvidia-ml.so.1"};
    pgy_error err = {0};
    void *handle = NULL;
    const dl_symbol symbols[] = {
        {"nvmlInit_v2", (void **)&api->init, true},
        {"nvmlShutdown", (void **)&api->shutdown, true},
        {"nvmlDeviceGetCount_v2", (void **)&api->count, true},
        {"nvmlDeviceGetHandleByIndex_v2", (void **)&api->device, true},
        {"nvmlDeviceGetTotalEnergyConsumption", (void **)&api->energy, true},
        {"nvmlErrorString", (void **)&api->error, true}};
    if (dl_open(&handle, NAMES, 1, NULL, &err)) {
        str_printf(why, "%s is not there", NAMES[0]);
        return false;
    }
    if (!dl_resolve(handle, symbols, sizeof symbols / sizeof *symbols, &err)) return true;
    str_append(why, err.text);
    return false;
}

static void open_nvml(bench_energy *e, str *why)
{
    unsigned count = 0;
    unsigned long long energy;
    if (!open_library(&e->nvml, why)) return;
    int failure = e->nvml.init();
    e->nvml_open = !failure;
    if (!failure) failure = e->nvml.count(&count);
    for (unsigned i = 0; !failure && i < count && i < GPUS; i++) {
        failure = e->nvml.device(i, &e->gpus[i]);
        if (!failure) failure = e->nvml.energy(e->gpus[i], &energy);
    }
    if (failure)
        str_printf(why, "NVML: %s", e->nvml.error(failure));
    else if (!count)
        str_append(why, "NVML finds no GPU");
    else
        e->gpu_count = count < GPUS ? count : GPUS;
}

static double read_nvml(const bench_energy *e)
{
    double sum = 0;
    for (size_t i = 0; i < e->gpu_count; i++) {
        unsigned long long energy;
        if (e->nvml.energy(e->gpus[i], &energy)) return -1;
        sum += (double)energy / 1e3;
    }
    return e->gpu_count ? sum : -1;
}

/* ---- Both ------------------------------------------------------------------------------------ */

pgy_status bench_energy_open(bench_energy **out, const char *powercap, pgy_error *err)
{
    bench_energy *e = mem_calloc(1, sizeof *e);
    str why = {0};
    if (!e) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    open_rapl(e, powercap);
    open_nvml(e, &why);
    str_append(&e->text, ", GPU ");
    if (e->gpu_count)
        str_printf(&e->text, "from NVML (%zu)", e->gpu_count);
    else
        str_printf(&e->text, "unknown (%s)", str_text(&why));
    const bool failed = e->text.failed || why.failed;
    str_deinit(&why);
    if (failed) {
        bench_energy_close(e);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    *out = e;
    return PGY_OK;
}

void bench_energy_close(bench_energy *e)
{
    if (!e) return;
    for (size_t i = 0; i < e->package_count; i++) mem_free(e->packages[i].path);
    if (e->nvml_open) e->nvml.shutdown();
    str_deinit(&e->text);
    mem_free(e);
}

const char *bench_energy_text(const bench_energy *e)
{
    return str_text(&e->text);
}

void bench_energy_read(bench_joules *out, bench_energy *e)
{
    *out = (bench_joules){.cpu = read_rapl(e), .gpu = read_nvml(e)};
}

static double between(double before, double after)
{
    return before >= 0 && after >= before ? after - before : -1;
}

bench_joules bench_joules_between(const bench_joules *before, const bench_joules *after)
{
    return (bench_joules){between(before->cpu, after->cpu), between(before->gpu, after->gpu)};
}

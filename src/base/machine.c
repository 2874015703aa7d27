/* SPDX-License-Identifier: Apache-2.0 */
/* The peaks of this machine: measured once, and kept in the user's cache folder. */
#include <polygraphy/machine.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/machine.h"
#include "base/machine_probe.h"
#include "base/sized.h"
#include "base/system.h"

enum { PROBE_VERSION = 1 };
static const double DEFAULT_SECONDS = 2, MOST_SECONDS = 60;

/* ---- The machine ----------------------------------------------------------------------------- */

void machine_processor(char *out, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256];
    snprintf(out, size, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !value) continue;
        value += 1 + strspn(value + 1, " \t");
        value[strcspn(value, "\n")] = 0;
        snprintf(out, size, "%s", value);
        break;
    }
    if (f) fclose(f);
}

static void describe(pgy_machine_peaks *out)
{
    *out = (pgy_machine_peaks){.threads = cpu_count()};
    snprintf(out->cpu, sizeof out->cpu, "%s", cpu_level_name(cpu_features()));
    machine_processor(out->processor, sizeof out->processor);
}

/* ---- The cache ------------------------------------------------------------------------------- */

/* The file of this machine; the home folder may be shared by several. NULL: there is no folder, or
 * no memory. */
static char *cache_path(const pgy_machine_peaks *p)
{
    static const char *const PLACES[][2] = {{"XDG_CACHE_HOME", ""}, {"HOME", "/.cache"}};
    char host[256] = "";
    str key = {0}, path = {0};
    if (gethostname(host, sizeof host - 1)) *host = 0;
    str_printf(&key, "%d %s %s %s %zu", PROBE_VERSION, host, p->processor, p->cpu, p->threads);
    const uint64_t hash = hash_xxh64(str_text(&key), key.size, 0);
    str_deinit(&key);
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
        const char *value = getenv(PLACES[i][0]);
        if (!value || *value != '/') continue;
        str_printf(&path, "%s%s/polygraphy/peaks/%016llx.json", value, PLACES[i][1],
                   (unsigned long long)hash);
        return str_take(&path);
    }
    return NULL;
}

static bool read_positive(double *out, const json_value *root, const char *name)
{
    const double most = 1e9;
    const json_value *v = json_get(root, name);
    if (!v || (v->type != JSON_REAL && v->type != JSON_INT) || !(v->real > 0 && v->real < most))
        return false;
    *out = v->real;
    return true;
}

/* A file that is missing or damaged, or that a shorter probe wrote, means that nothing is known. */
static bool read_cache(pgy_machine_peaks *out, const char *path, double seconds)
{
    double measured = 0;
    arena memory = {0};
    json_value *root = NULL;
    str text = {0};
    uint64_t size = 0;
    const uint64_t most_bytes = 4096;
    const bool good = !file_size(&size, path, NULL) && size <= most_bytes &&
                      !file_read(&text, path, NULL) &&
                      !json_parse(&root, str_text(&text), text.size, &memory, NULL) &&
                      read_positive(&out->gflops, root, "gflops") &&
                      read_positive(&out->gb_per_s, root, "gb_per_s") &&
                      read_positive(&measured, root, "seconds") && measured >= seconds;
    arena_deinit(&memory);
    str_deinit(&text);
    return good;
}

typedef struct kept_peaks {
    const pgy_machine_peaks *peaks;
    double seconds;
} kept_peaks;

static pgy_status write_peaks(json_writer *w, const void *user, pgy_error *err)
{
    const kept_peaks *kept = user;
    const pgy_machine_peaks *p = kept->peaks;
    (void)err;
    json_begin_object(w);
    json_put_text(w, "processor", p->processor);
    json_put_text(w, "cpu", p->cpu);
    json_put_uint(w, "threads", p->threads);
    json_put_real(w, "gflops", p->gflops);
    json_put_real(w, "gb_per_s", p->gb_per_s);
    json_put_real(w, "seconds", kept->seconds);
    json_end_object(w);
    return PGY_OK;
}

/* ---- Both ------------------------------------------------------------------------------------ */

pgy_status pgy_machine_peaks_get(pgy_machine_peaks *out, const pgy_machine_options *options,
                                 pgy_error *err)
{
    pgy_machine_options o = {.size = sizeof o};
    pgy_machine_peaks made;
    pgy_status st = SIZED_TAKE(pgy_machine_options, &o, options, err);
    if (st) return st;
    if (o.seconds == 0) o.seconds = DEFAULT_SECONDS;
    if (!(o.seconds > 0 && o.seconds <= MOST_SECONDS))
        return pgy_error_set(err, PGY_E_ARGUMENT, "a probe of %g seconds; expected up to %g",
                             o.seconds, MOST_SECONDS);
    describe(&made);
    char *path = o.keeps_none ? NULL : cache_path(&made);
    made.is_cached = path && !o.again && read_cache(&made, path, o.seconds);
    if (!made.is_cached) st = machine_probe(&made, o.seconds, err);
    /* Without the file the next call measures again, which is no failure. */
    const kept_peaks kept = {&made, o.seconds};
    if (!st && !made.is_cached && !made.is_disturbed && path)
        (void)!json_save(path, write_peaks, &kept, NULL);
    mem_free(path);
    if (!st) *out = made;
    return st;
}

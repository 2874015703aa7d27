/* SPDX-License-Identifier: Apache-2.0 */
/* Runs models on a device: runner DEVICE REFERENCE MODEL...
 * DEVICE is a name of --device, REFERENCE a runtime: opref, or trt for the engine on the host. A
 * MODEL is a file, whose inputs are generated, or a folder with model.onnx and test_data_set_0, as
 * tests/parity/node_tests.py writes it.
 * Each runs three times on the device, so that graphs are used; the results must be equal bit for
 * bit. The contract: a float may be off the reference by 8 times the largest error of the engine on
 * the host in that tensor, or by 8 units in the last place of the tensor's largest number; other
 * types must be equal to one of the two.
 * One line for each: outcome (passed, host: nothing ran on the device, failed, unsupported), layers
 * on the device, layers on the host, their operators, name, reason; separated by tabs. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <polygraphy/polygraphy.h>

enum { TIMES = 3 };

/* What the log of a build says about places. */
static struct {
    unsigned on_host, on_device;
    char operators[2048];
} places;

static void read_log(pgy_severity severity, const char *text, size_t size_bytes, void *user)
{
    static const char HOST[] = "On the host: ";
    const char *at = strstr(text, HOST), *layers = strstr(text, "Layers: ");
    (void)severity, (void)size_bytes, (void)user;
    if (layers)
        (void)!sscanf(layers, "Layers: %u on host, %u on", &places.on_host, &places.on_device);
    if (!at) return;
    const size_t size = strcspn(at + sizeof HOST - 1, " "), used = strlen(places.operators);
    snprintf(places.operators + used, sizeof places.operators - used, "%s%.*s", used ? "," : "",
             (int)size, at + sizeof HOST - 1);
}

static bool exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

/* ---- Inputs --------------------------------------------------------------------------------- */

static pgy_status load_set(pgy_tensor_map **out, const char *folder, pgy_error *err)
{
    pgy_status st = pgy_tensor_map_create(out, err);
    for (size_t i = 0; !st; i++) {
        pgy_tensor *t = NULL;
        char *name = NULL, path[4096];
        snprintf(path, sizeof path, "%s/test_data_set_0/input_%zu.pb", folder, i);
        if (!exists(path)) break;
        st = pgy_tensorproto_load(&t, &name, path, err);
        if (!st) st = pgy_tensor_map_adopt(*out, name, t, err);
        pgy_text_free(name);
    }
    return st;
}

static pgy_status generate(pgy_tensor_map **out, pgy_runner *r, pgy_error *err)
{
    const pgy_random_options o = pgy_random_options_default();
    const pgy_metadata *inputs = NULL;
    pgy_data_loader *l = NULL;
    pgy_status st = pgy_runner_inputs(&inputs, r, err);
    if (!st) st = pgy_random_loader_create(&l, &o, err);
    if (!st) st = pgy_data_loader_set_metadata(l, inputs, err);
    if (!st) st = pgy_data_loader_next(out, l, err);
    pgy_data_loader_destroy(l);
    return st;
}

/* ---- Runs ----------------------------------------------------------------------------------- */

static pgy_status create(pgy_runner **out, const char *backend, const char *model,
                         const char *device, pgy_error *err)
{
    const pgy_build_config config = {.size = sizeof config,
                                     .has_optimization_level = true,
                                     .optimization_level = 1,
                                     .devices = {.items = &device, .count = device != NULL},
                                     .devices_first = true};
    const pgy_backend *b = pgy_backend_find(backend);
    pgy_backend_options *options = NULL;
    pgy_model_source source;
    if (!b) return pgy_error_set(err, PGY_E_NOT_FOUND, "there is no runtime '%s'", backend);
    pgy_status st = pgy_backend_options_create(&options, b, err);
    if (!st && strcmp(backend, "trt") == 0) st = pgy_engine_runner_configure(options, &config, err);
    if (!st) st = pgy_source_from_path(&source, model, err);
    if (!st) st = pgy_runner_create(out, b, &source, options, model, err);
    if (!st) st = pgy_runner_activate(*out, err);
    pgy_backend_options_destroy(options);
    return st;
}

typedef struct outcome {
    pgy_tensor_map *feed, *reference, *host, *device;
} outcome;

static void release(outcome *o)
{
    pgy_tensor_map_destroy(o->feed);
    pgy_tensor_map_destroy(o->reference);
    pgy_tensor_map_destroy(o->host);
    pgy_tensor_map_destroy(o->device);
}

static pgy_status run_host(outcome *o, const char *path, const char *model, const char *reference,
                           pgy_error *err)
{
    pgy_runner *r = NULL, *host = NULL;
    pgy_status st = create(&r, reference, model, NULL, err);
    if (!st)
        st = exists(path) && strcmp(path, model) != 0 ? load_set(&o->feed, path, err)
                                                      : generate(&o->feed, r, err);
    if (!st) st = pgy_runner_infer(&o->reference, r, o->feed, err);
    pgy_runner_destroy(r);
    if (!st) st = create(&host, "trt", model, NULL, err);
    if (!st) st = pgy_runner_infer(&o->host, host, o->feed, err);
    pgy_runner_destroy(host);
    return st;
}

static pgy_status expect_same_bits(const pgy_tensor_map *a, const pgy_tensor_map *b, pgy_error *err)
{
    for (size_t i = 0; i < pgy_tensor_map_count(a); i++) {
        pgy_tensor *x = pgy_tensor_map_at(a, i), *y = pgy_tensor_map_at(b, i);
        if (pgy_tensor_dtype(x) == PGY_STRING) continue;
        if (pgy_tensor_size_bytes(x) != pgy_tensor_size_bytes(y) ||
            memcmp(pgy_tensor_data(x), pgy_tensor_data(y), pgy_tensor_size_bytes(x)))
            return pgy_error_set(err, PGY_E_FORMAT, "output '%s' changes from run to run",
                                 pgy_tensor_map_name(a, i));
    }
    return PGY_OK;
}

static pgy_status run_device(outcome *o, const char *model, const char *device, pgy_error *err)
{
    pgy_runner *r = NULL;
    pgy_status st = create(&r, "trt", model, device, err);
    if (!st) st = pgy_runner_infer(&o->device, r, o->feed, err);
    for (int i = 1; !st && i < TIMES; i++) {
        pgy_tensor_map *again = NULL;
        st = pgy_runner_infer(&again, r, o->feed, err);
        if (!st) st = expect_same_bits(o->device, again, err);
        pgy_tensor_map_destroy(again);
    }
    pgy_runner_destroy(r);
    return st;
}

/* ---- Comparing ------------------------------------------------------------------------------ */

/* The elements as float64; NULL: out of memory, or not numbers. */
static double *wide(pgy_tensor *t)
{
    const int64_t shape[] = {(int64_t)pgy_tensor_count(t)};
    double *values = malloc((pgy_tensor_count(t) + 1) * sizeof *values);
    if (!values) return NULL;
    const pgy_view from = pgy_view_of(pgy_tensor_data(t), pgy_tensor_dtype(t), 1, shape);
    if (!pgy_view_convert(pgy_view_of(values, PGY_F64, 1, shape), from, false, NULL)) return values;
    free(values);
    return NULL;
}

static double unit_of(pgy_dtype dtype)
{
    switch (dtype) {
    case PGY_F64:
    case PGY_F32: return 0x1p-23; /* the device computes float64 models on the host */
    case PGY_F16: return 0x1p-10;
    case PGY_BF16: return 0x1p-7;
    default: return 0;
    }
}

static double off(double x, double y)
{
    if (x == y || (isnan(x) && isnan(y))) return 0;
    const double d = fabs(x - y);
    return isnan(d) ? INFINITY : d;
}

static pgy_status compare_values(const double *d, const double *h, const double *r, size_t count,
                                 double unit, pgy_error *err)
{
    double limit = 0, scale = 0;
    for (size_t i = 0; i < count; i++) {
        const double error = off(h[i], r[i]);
        if (isfinite(error) && error > limit) limit = error;
        if (isfinite(r[i]) && fabs(r[i]) > scale) scale = fabs(r[i]);
    }
    limit = 8 * (limit > unit * scale ? limit : unit * scale);
    for (size_t i = 0; i < count; i++)
        if (unit > 0 ? off(d[i], r[i]) > limit && off(d[i], h[i]) > limit
                     : off(d[i], r[i]) > 0 && off(d[i], h[i]) > 0)
            return pgy_error_set(err, PGY_E_FORMAT,
                                 "element %zu is %.9g, the reference has %.9g, the host %.9g; "
                                 "permitted: %.3g",
                                 i, d[i], r[i], h[i], unit > 0 ? limit : 0.0);
    return PGY_OK;
}

static pgy_status compare_tensor(pgy_tensor *d, pgy_tensor *h, pgy_tensor *r, pgy_error *err)
{
    const size_t count = pgy_tensor_count(r);
    if (pgy_tensor_dtype(d) != pgy_tensor_dtype(r) || pgy_tensor_count(d) != count ||
        pgy_tensor_count(h) != count)
        return pgy_error_set(err, PGY_E_SHAPE, "type or number of elements differ");
    if (pgy_tensor_dtype(r) == PGY_STRING) return PGY_OK; /* strings stay on the host */
    double *x = wide(d), *y = wide(h), *z = wide(r);
    const pgy_status st = x && y && z
                              ? compare_values(x, y, z, count, unit_of(pgy_tensor_dtype(r)), err)
                              : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    free(x);
    free(y);
    free(z);
    return st;
}

static pgy_status compare(const outcome *o, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(o->reference); i++) {
        const char *name = pgy_tensor_map_name(o->reference, i);
        pgy_tensor *d = pgy_tensor_map_find(o->device, name);
        pgy_tensor *h = pgy_tensor_map_find(o->host, name);
        st = d && h ? compare_tensor(d, h, pgy_tensor_map_at(o->reference, i), err)
                    : pgy_error_set(err, PGY_E_FORMAT, "it is missing");
        if (st) st = pgy_error_prefix(err, st, "output '%s': ", name);
    }
    return st;
}

/* ---- The table ------------------------------------------------------------------------------ */

static const char *run_one(const char *path, const char *device, const char *reference,
                           pgy_error *err)
{
    outcome o = {0};
    char model[4096];
    struct stat info;
    const bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    snprintf(model, sizeof model, "%s%s", path, folder ? "/model.onnx" : "");
    memset(&places, 0, sizeof places);
    const char *said = "unsupported";
    pgy_status st = run_host(&o, path, model, reference, err);
    memset(&places, 0, sizeof places);
    if (!st) {
        st = run_device(&o, model, device, err);
        if (!st) st = compare(&o, err);
        said = st ? "failed" : places.on_device ? "passed" : "host";
    }
    release(&o);
    return said;
}

int main(int argc, char **argv)
{
    pgy_error ignored = {{0}};
    if (argc < 4) return 2;
    pgy_log_set_sink(read_log, NULL);
    if (pgy_log_set_severity(NULL, PGY_LOG_VERBOSE, &ignored)) return 2;
    for (int i = 3; i < argc; i++) {
        pgy_error err = {{0}};
        const char *said = run_one(argv[i], argv[1], argv[2], &err);
        const char *slash = strrchr(argv[i], '/');
        for (char *c = err.text; *c; c++)
            if (*c == '\n' || *c == '\t') *c = ' ';
        printf("%s\t%u\t%u\t%s\t%s\t%.400s\n", said, places.on_device, places.on_host,
               places.operators, slash ? slash + 1 : argv[i], err.text);
        fflush(stdout);
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs test folders as ONNX has them: node_runner BACKEND FOLDER...
 * Each holds model.onnx, rtol and atol in `tolerance`, and test_data_set_<n>/{input,output}_<m>.pb,
 * tensors that have the names of inputs and outputs or of elements of sequences (docs/opref.md).
 * Where there is a file `random`, elements of outputs are only checked to be 0 or 1.
 * One line per folder: "passed", "passed-model" (in model precision only), "passed-random",
 * "failed" or "unsupported", its name, and why. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <polygraphy/polygraphy.h>

typedef struct bounds {
    double rtol, atol;
    bool random;
} bounds;

static bool exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

/* The elements as float64, which holds all that the tests have; NULL when out of memory. */
static double *wide(pgy_tensor *t)
{
    const size_t count = pgy_tensor_count(t);
    const int64_t shape[] = {(int64_t)count};
    double *values = malloc((count + 1) * sizeof *values);
    if (!values) return NULL;
    const pgy_view from = pgy_view_of(pgy_tensor_data(t), pgy_tensor_dtype(t), 1, shape);
    if (pgy_view_convert(pgy_view_of(values, PGY_F64, 1, shape), from, false, NULL)) {
        free(values);
        return NULL;
    }
    return values;
}

static pgy_status compare_numbers(pgy_tensor *got, pgy_tensor *want, bounds b, pgy_error *err)
{
    double *x = wide(got), *y = wide(want);
    pgy_status st = x && y ? PGY_OK : pgy_error_set(err, PGY_E_UNSUPPORTED, "cannot compare");
    for (size_t i = 0; !st && i < pgy_tensor_count(want); i++) {
        const bool same = b.random ? x[i] == 0 || x[i] == 1
                                   : x[i] == y[i] || (isnan(x[i]) && isnan(y[i])) ||
                                         fabs(x[i] - y[i]) <= b.atol + b.rtol * fabs(y[i]);
        if (!same)
            st = pgy_error_set(err, PGY_E_FORMAT, "element %zu is %.9g, expected %.9g", i, x[i],
                               y[i]);
    }
    free(x);
    free(y);
    return st;
}

static pgy_status compare_texts(pgy_tensor *got, pgy_tensor *want, pgy_error *err)
{
    char *x = NULL, *y = NULL;
    const pgy_text_options options = {.size = sizeof options, .edge_items = -1};
    pgy_status st = pgy_view_text(&x, pgy_tensor_view(got), &options, err);
    if (!st) st = pgy_view_text(&y, pgy_tensor_view(want), &options, err);
    if (!st && strcmp(x, y) != 0) st = pgy_error_set(err, PGY_E_FORMAT, "is %s, expected %s", x, y);
    pgy_text_free(x);
    pgy_text_free(y);
    return st;
}

static pgy_status compare(pgy_tensor *got, pgy_tensor *want, bounds b, pgy_error *err)
{
    if (pgy_tensor_dtype(got) != pgy_tensor_dtype(want))
        return pgy_error_set(err, PGY_E_TYPE, "type is %s, expected %s",
                             pgy_dtype_name(pgy_tensor_dtype(got)),
                             pgy_dtype_name(pgy_tensor_dtype(want)));
    if (!pgy_view_same_shape(pgy_tensor_view(got), pgy_tensor_view(want)))
        return pgy_error_set(err, PGY_E_SHAPE,
                             "the shape is not as expected (%zu and %zu elements)",
                             pgy_tensor_count(got), pgy_tensor_count(want));
    if (pgy_tensor_dtype(got) == PGY_STRING) return compare_texts(got, want, err);
    return compare_numbers(got, want, b, err);
}

/* The files KIND_0.pb, KIND_1.pb, ... of a data set, by the names in them. */
static pgy_status load_set(pgy_tensor_map **out, const char *folder, const char *kind,
                           pgy_error *err)
{
    pgy_tensor_map *m = NULL;
    char path[4096];
    pgy_status st = pgy_tensor_map_create(&m, err);
    for (size_t i = 0; !st; i++) {
        pgy_tensor *t = NULL;
        char *name = NULL;
        snprintf(path, sizeof path, "%s/%s_%zu.pb", folder, kind, i);
        if (!exists(path)) break;
        st = pgy_tensorproto_load(&t, &name, path, err);
        if (!st) st = pgy_tensor_map_adopt(m, name, t, err);
        pgy_text_free(name);
    }
    *out = m;
    return st;
}

static pgy_status compare_all(const pgy_tensor_map *got, const pgy_tensor_map *want, bounds b,
                              pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(want); i++) {
        const char *name = pgy_tensor_map_name(want, i);
        pgy_tensor *t = pgy_tensor_map_find(got, name);
        if (!t) return pgy_error_set(err, PGY_E_FORMAT, "output '%s' is not there", name);
        st = compare(t, pgy_tensor_map_at(want, i), b, err);
        if (st) pgy_error_prefix(err, st, "output '%s': ", name);
    }
    if (!st && pgy_tensor_map_count(got) != pgy_tensor_map_count(want))
        st = pgy_error_set(err, PGY_E_FORMAT, "there are %zu tensors, expected %zu",
                           pgy_tensor_map_count(got), pgy_tensor_map_count(want));
    return st;
}

static pgy_status run_set(pgy_runner *r, const char *folder, bounds b, pgy_error *err)
{
    pgy_tensor_map *feed = NULL, *want = NULL, *got = NULL;
    pgy_status st = load_set(&feed, folder, "input", err);
    if (!st) st = load_set(&want, folder, "output", err);
    if (!st) st = pgy_runner_infer(&got, r, feed, err);
    if (!st) st = compare_all(got, want, b, err);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(want);
    pgy_tensor_map_destroy(got);
    return st;
}

/* `precision` of the reference; NULL is its default. */
static pgy_status create_runner(pgy_runner **out, const char *name, const char *model,
                                const char *precision, pgy_error *err)
{
    pgy_model_source source;
    const pgy_backend *backend = pgy_backend_find(name);
    if (!backend) return pgy_error_set(err, PGY_E_NOT_FOUND, "no backend '%s'", name);
    pgy_backend_options *options = NULL;
    pgy_status st = pgy_backend_options_create(&options, backend, err);
    if (!st && precision) st = pgy_backend_options_set(options, "opref_precision", precision, err);
    if (!st) st = pgy_source_from_path(&source, model, err);
    if (!st) st = pgy_runner_create(out, backend, &source, options, model, err);
    pgy_backend_options_destroy(options);
    return st;
}

static bool is_random(const char *folder)
{
    char path[4000];
    snprintf(path, sizeof path, "%s/random", folder);
    return exists(path);
}

static pgy_status run_folder(const char *backend, const char *folder, const char *precision,
                             pgy_error *err)
{
    bounds b = {1e-3, 1e-7, false};
    char path[4000];
    pgy_runner *r = NULL;
    snprintf(path, sizeof path, "%s/tolerance", folder);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%lf %lf", &b.rtol, &b.atol) != 2) b = (bounds){1e-3, 1e-7, false};
    if (file) fclose(file);
    b.random = is_random(folder);
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    pgy_status st = create_runner(&r, backend, path, precision, err);
    if (!st) st = pgy_runner_activate(r, err);
    for (int set = 0; !st; set++) {
        snprintf(path, sizeof path, "%s/test_data_set_%d", folder, set);
        if (!exists(path)) break;
        st = run_set(r, path, b, err);
    }
    pgy_runner_destroy(r);
    return st;
}

int main(int argc, char **argv)
{
    const bool reference = argc > 1 && strcmp(argv[1], "opref") == 0;
    for (int i = 2; i < argc; i++) {
        pgy_error err = {{0}}, ignored = {{0}};
        const pgy_status st = run_folder(argv[1], argv[i], NULL, &err);
        const bool rounded = reference && st && st != PGY_E_UNSUPPORTED &&
                             !run_folder(argv[1], argv[i], "model", &ignored);
        const char *slash = strrchr(argv[i], '/');
        for (char *c = err.text; *c; c++)
            if (*c == '\n') *c = ' ';
        printf("%s %s %.300s\n",
               !st && is_random(argv[i]) ? "passed-random"
               : !st                     ? "passed"
               : rounded                 ? "passed-model"
               : st == PGY_E_UNSUPPORTED ? "unsupported"
                                         : "failed",
               slash ? slash + 1 : argv[i], st ? err.text : "");
        fflush(stdout);
    }
    return 0;
}

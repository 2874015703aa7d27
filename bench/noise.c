/* SPDX-License-Identifier: Apache-2.0 */
/* The noise floor against real errors: noise MODEL... runs each model by ONNX Runtime and prints, for
 * float32 and for the model converted to float16, the share of tensors whose real error is at most
 * 1, 2, 3 and 5 times the floor, the largest such ratio, its median, and the largest ratio of an
 * output after one filter (row) of a weight was scaled by 1.01. Prints, asserts nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

#include "base/system.h"

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static pgy_status record(pgy_tensor_map **out, pgy_model *model, const pgy_tensor_map *feed,
                         const char *backend, pgy_error *err)
{
    pgy_data_loader *data = NULL;
    pgy_status st = pgy_list_loader_create(&data, &feed, 1, err);
    const pgy_record_options o = {.size = sizeof o, .all = true, .backend = backend, .data = data};
    if (!st) st = pgy_record(out, model, &o, err);
    pgy_data_loader_destroy(data);
    return st;
}

/* The ratios of the float tensors that both sides have. */
static pgy_status compare(double **out, size_t *count, const pgy_floor *f, const pgy_tensor_map *a,
                          const pgy_tensor_map *b, const char **worst, pgy_error *err)
{
    double *list = calloc(pgy_floor_count(f) + 1, sizeof *list), most = -1;
    pgy_status st = PGY_OK;
    *count = 0;
    for (size_t i = 0; !st && i < pgy_floor_count(f); i++) {
        const pgy_floor_tensor *t = pgy_floor_at(f, i);
        pgy_tensor *x = pgy_tensor_map_find(a, t->name), *y = pgy_tensor_map_find(b, t->name);
        pgy_floor_verdict v = {0};
        if (!x || !y || t->unknown_why) continue;
        st = pgy_floor_judge(&v, f, t->name, pgy_tensor_view(x), pgy_tensor_view(y), err);
        if (st || (v.max_abs == 0 && t->max_abs == 0)) continue;
        list[(*count)++] = v.times;
        if (v.times > most) most = v.times, *worst = t->name;
    }
    qsort(list, *count, sizeof *list, by_value);
    *out = list;
    return st;
}

static void print_line(const char *name, const char *what, const double *list, size_t count,
                       const char *worst, double seconds)
{
    static const double LIMITS[] = {1, 2, 3, 5};
    printf("%-28s %-8s %4zu tensors, within", name, what, count);
    for (size_t k = 0; k < 4; k++) {
        size_t in = 0;
        while (in < count && list[in] <= LIMITS[k]) in++;
        printf(" %gx: %5.1f%%", LIMITS[k], count ? 100.0 * (double)in / (double)count : 0);
    }
    printf("; median %.2f, most %.3g (%s); floor %.2f s\n", count ? list[count / 2] : 0,
           count ? list[count - 1] : 0, worst ? worst : "-", seconds);
}

static pgy_status measure(const char *name, pgy_model *model, pgy_model *real, const char *what,
                          pgy_dtype assume, const pgy_tensor_map *feed, pgy_error *err)
{
    const pgy_floor_options o = {.size = sizeof o, .assume = assume};
    pgy_tensor_map *exact = NULL, *run = NULL;
    pgy_floor *f = NULL;
    double *list = NULL;
    const char *worst = NULL;
    size_t count = 0;
    const int64_t start = clock_ns();
    pgy_status st = pgy_floor_create(&f, model, &o, err);
    if (!st) st = pgy_floor_add(f, feed, err);
    const double seconds = (double)(clock_ns() - start) * 1e-9;
    if (!st) st = record(&exact, model, feed, "opref", err);
    if (!st) st = record(&run, real, feed, "onnxrt", err);
    if (!st) st = compare(&list, &count, f, exact, run, &worst, err);
    if (!st) print_line(name, what, list, count, worst, seconds);
    free(list);
    pgy_floor_destroy(f);
    pgy_tensor_map_destroy(exact);
    pgy_tensor_map_destroy(run);
    return st;
}

/* A copy of the model in which the first row of its largest float32 weight is scaled by 1.01. */
static pgy_status plant(pgy_model **out, const char *path, pgy_error *err)
{
    pgy_model *m = NULL;
    pgy_tensor *loaded = NULL, *own = NULL;
    pgy_onnx_tensor *largest = NULL, *changed = NULL;
    size_t most = 0;
    pgy_status st = pgy_model_load(&m, path, NULL, err);
    const pgy_onnx_graph *g = st ? NULL : pgy_model_proto(m)->graph;
    for (size_t i = 0; g && i < g->initializer_count; i++) {
        pgy_onnx_tensor *t = g->initializers[i];
        size_t count = 1;
        for (size_t d = 0; d < t->dim_count; d++) count *= (size_t)t->dims[d];
        if (t->data_type == 1 && t->dim_count >= 2 && count > most) most = count, largest = t;
    }
    if (!st && !largest) st = pgy_error_set(err, PGY_E_ARGUMENT, "the model has no weight");
    if (!st) st = pgy_onnx_tensor_load(&loaded, m, largest, err);
    if (!st) st = pgy_tensor_copy(&own, pgy_tensor_view(loaded), err);
    for (size_t i = 0; !st && i < most / (size_t)largest->dims[0]; i++)
        ((float *)pgy_tensor_data(own))[i] *= 1.01f;
    if (!st) st = pgy_model_tensor(&changed, m, largest->name, own, err);
    if (!st) {
        pgy_onnx_model *proto = (pgy_onnx_model *)pgy_model_proto(m);
        *largest = *changed;
        largest->message.raw = proto->graph->message.raw = proto->message.raw = (pgy_bytes){0};
        *out = m;
        m = NULL;
    }
    pgy_tensor_release(loaded);
    pgy_tensor_release(own);
    pgy_model_destroy(m);
    return st;
}

static pgy_status run(const char *path, pgy_error *err)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    pgy_model *model = NULL, *half = NULL, *bad = NULL;
    pgy_loader *loader = NULL;
    pgy_tensor_map *feed = NULL;
    pgy_status st = pgy_model_load(&model, path, NULL, err);
    if (!st) st = pgy_record_feed(&feed, model, NULL, err);
    if (!st) st = measure(name, model, model, "float32", PGY_DTYPE_NONE, feed, err);
    if (!st) st = pgy_loader_from_model(&loader, model, err);
    if (!st) st = pgy_loader_convert_half(&loader, NULL, err);
    if (!st) st = pgy_loader_call(&half, loader, err);
    if (!st) st = measure(name, model, half, "float16", PGY_F16, feed, err);
    if (!st) st = plant(&bad, path, err);
    if (!st) st = measure(name, model, bad, "fault", PGY_DTYPE_NONE, feed, err);
    if (!st) st = measure(name, model, bad, "fault16", PGY_F16, feed, err);
    pgy_tensor_map_destroy(feed);
    pgy_loader_destroy(loader);
    pgy_model_destroy(half);
    pgy_model_destroy(bad);
    pgy_model_destroy(model);
    return st;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        pgy_error err = {0};
        if (run(argv[i], &err)) printf("%s: %s\n", argv[i], err.text);
        fflush(stdout);
    }
    return 0;
}

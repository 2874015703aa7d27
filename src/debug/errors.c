/* SPDX-License-Identifier: Apache-2.0 */
/* Measures how far all tensors of a model are from a reference's. */
#include <math.h>
#include <string.h>

#include <polygraphy/compare.h>
#include <polygraphy/debug.h>
#include <polygraphy/loader.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cancel.h"
#include "base/sized.h"

typedef struct error_list {
    arena memory;
    pgy_debug_tensor_error *items;
    size_t count;
} error_list;

/* ---- Running -------------------------------------------------------------------------------- */

static pgy_status mark_all(pgy_model **out, pgy_model *model, pgy_error *err)
{
    const pgy_output_selection all = {.size = sizeof all, .mark_all = true};
    pgy_loader *loader = NULL;
    pgy_status st = pgy_loader_from_model(&loader, model, err);
    if (!st) st = pgy_loader_select_outputs(&loader, &all, err);
    if (!st) st = pgy_loader_call(out, loader, err);
    pgy_loader_destroy(loader);
    return st;
}

static pgy_status make_runner(pgy_runner **out, const char *name,
                              const pgy_backend_options *options, pgy_model *model, pgy_error *err)
{
    const pgy_backend *backend = pgy_backend_find(name);
    pgy_loader *loader = NULL;
    pgy_model_source source = {0};
    if (!backend)
        return pgy_error_set(err, PGY_E_NOT_FOUND, "errors.runner: backend '%s' does not exist",
                             name);
    pgy_status st = pgy_loader_from_model(&loader, model, err);
    if (!st) st = pgy_loader_source(&source, loader, err);
    return st ? st : pgy_runner_create(out, backend, &source, options, NULL, err);
}

static pgy_status run_both(pgy_results **out, pgy_model *model, const pgy_debug_errors_options *o,
                           pgy_error *err)
{
    pgy_run_options how = pgy_run_options_default();
    pgy_runner *runners[2] = {NULL, NULL};
    pgy_model *marked = NULL;
    how.loader = o->data;
    pgy_status st = mark_all(&marked, model, err);
    if (!st)
        st =
            make_runner(&runners[0], o->runner ? o->runner : "trt", o->runner_options, marked, err);
    if (!st)
        st = make_runner(&runners[1], o->reference ? o->reference : "opref", NULL, marked, err);
    if (!st) st = pgy_infer_all(out, runners, 2, &how, err);
    pgy_runner_destroy(runners[0]);
    pgy_runner_destroy(runners[1]);
    pgy_model_destroy(marked);
    return st;
}

/* ---- Measuring ------------------------------------------------------------------------------ */

/* Equal infinities have no difference. */
static double norm_error(const double *a, const double *b, size_t count)
{
    double difference = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(a[i]) || isnan(b[i])) {
            if (isnan(a[i]) != isnan(b[i])) return INFINITY;
            continue;
        }
        if (a[i] == b[i]) {
            if (isfinite(b[i])) norm += b[i] * b[i];
            continue;
        }
        if (!isfinite(a[i]) || !isfinite(b[i])) return INFINITY;
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    if (difference == 0) return 0;
    return norm > 0 ? sqrt(difference / norm) : INFINITY;
}

static pgy_status measure(double *out, const pgy_tensor *a, const pgy_tensor *b, pgy_error *err)
{
    pgy_tensor *wide_a = NULL, *wide_b = NULL;
    pgy_status st = pgy_tensor_cast(&wide_a, pgy_tensor_view(a), PGY_F64, err);
    if (!st) st = pgy_tensor_cast(&wide_b, pgy_tensor_view(b), PGY_F64, err);
    if (!st && pgy_tensor_count(wide_a) != pgy_tensor_count(wide_b))
        *out = INFINITY;
    else if (!st)
        *out =
            norm_error(pgy_tensor_data(wide_a), pgy_tensor_data(wide_b), pgy_tensor_count(wide_a));
    pgy_tensor_release(wide_a);
    pgy_tensor_release(wide_b);
    return st;
}

static pgy_status add(error_list *l, const char *name, double error, pgy_error *err)
{
    for (size_t i = 0; i < l->count; i++) {
        if (strcmp(l->items[i].name, name) != 0) continue;
        if (error > l->items[i].error) l->items[i].error = error;
        return PGY_OK;
    }
    const char *kept = arena_strdup(&l->memory, name);
    if (!kept) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for errors of tensors");
    l->items[l->count++] = (pgy_debug_tensor_error){kept, error};
    return PGY_OK;
}

static pgy_status add_iteration(error_list *l, const pgy_iteration *got,
                                const pgy_iteration *expected, pgy_error *err)
{
    const pgy_tensor_map *all = expected->outputs;
    const size_t count = pgy_tensor_map_count(all);
    pgy_status st = PGY_OK;
    if (!l->items) l->items = arena_alloc_array(&l->memory, count + 1, sizeof *l->items);
    if (!l->items) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for errors of tensors");
    for (size_t i = 0; !st && i < count; i++) {
        const char *name = pgy_tensor_map_name(all, i);
        const pgy_tensor *b = pgy_tensor_map_at(all, i),
                         *a = pgy_tensor_map_find(got->outputs, name);
        double error = 0;
        if (!a || !pgy_dtype_is_float(pgy_tensor_dtype(b))) continue;
        st = cancel_check(err);
        if (!st) st = measure(&error, a, b, err);
        if (!st) st = add(l, name, error, err);
    }
    return st;
}

pgy_status pgy_debug_errors_measure(pgy_debug_errors *out, pgy_model *model,
                                    const pgy_debug_errors_options *options, pgy_error *err)
{
    pgy_debug_errors_options o = {.size = sizeof o};
    pgy_results *results = NULL;
    error_list *l = mem_calloc(1, sizeof *l);
    if (!l) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for errors of tensors");
    pgy_status st = SIZED_TAKE(pgy_debug_errors_options, &o, options, err);
    if (!st) st = run_both(&results, model, &o, err);
    for (size_t i = 0; !st && i < pgy_results_iteration_count(results, 1); i++)
        st = add_iteration(l, pgy_results_at(results, 0, i), pgy_results_at(results, 1, i), err);
    pgy_results_destroy(results);
    pgy_debug_errors made = {.items = l->items, .count = l->count, .internal = l};
    if (st)
        pgy_debug_errors_free(&made);
    else
        *out = made;
    return st;
}

void pgy_debug_errors_free(pgy_debug_errors *e)
{
    error_list *l = e->internal;
    if (l) arena_deinit(&l->memory);
    mem_free(l);
    *e = (pgy_debug_errors){0};
}

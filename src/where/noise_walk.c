/* SPDX-License-Identifier: Apache-2.0 */
/* The executor says when a node starts and ends and when a subgraph begins, so a stack of the
 * running nodes gives the path. Counting the beginnings gives a loop's iteration. */
#include "where/noise_walk.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/memory.h"
#include "tensor/convert.h"
#include "tensor/tensor.h"

pgy_status noise_walk_init(noise_walk *w, pgy_model *model, pgy_error *err)
{
    *w = (noise_walk){0};
    if (!model) return pgy_error_set(err, PGY_E_ARGUMENT, "'model' must not be NULL");
    pgy_status st = pgy_graph_import(&w->graph, model, err);
    if (!st) graph_set_newer(w->graph, NEWER_WARNED);
    if (!st) st = plan_build(&w->plan, w->graph, err);
    if (!st) st = pgy_graph_infer_shapes(w->graph, NULL, err);
    if (st) noise_walk_deinit(w);
    return st;
}

void noise_walk_deinit(noise_walk *w)
{
    graph_plan_deinit(&w->plan);
    pgy_graph_destroy(w->graph);
    mem_free(w->steps);
    *w = (noise_walk){0};
}

pgy_status noise_walk_starts(noise_walk *w, pgy_node *n, pgy_error *err)
{
    if (!mem_grow((void **)&w->steps, &w->capacity, w->depth + 1, sizeof *w->steps))
        return graph_no_memory(err);
    w->steps[w->depth++] = (noise_step){.node = n};
    return PGY_OK;
}

void noise_walk_begins(noise_walk *w)
{
    if (w->depth) w->steps[w->depth - 1].begun++;
}

void noise_walk_ran(noise_walk *w)
{
    if (w->depth) w->depth--;
}

static uint64_t limit_of(const noise_walk *w)
{
    return w->max_steps ? w->max_steps : NOISE_MAX_STEPS;
}

bool noise_walk_exceeded(const noise_walk *w)
{
    return w->exceeded;
}

/* Names the innermost loop that runs. */
static pgy_status say_endless(const noise_walk *w, pgy_status st, pgy_error *err)
{
    for (size_t i = w->depth; i-- > 0;) {
        const pgy_node *n = w->steps[i].node;
        if (!node_is(n, "Loop") && !node_is(n, "Scan")) continue;
        return pgy_error_set(
            err, st,
            "node '%s' (%s) still runs at the limit of %llu nodes; perhaps it does "
            "not end (else raise %s)",
            node_label(n), n->op_type, (unsigned long long)limit_of(w), w->limit);
    }
    return pgy_error_set(err, st, "the model still runs at the limit of %llu nodes (%s)",
                         (unsigned long long)limit_of(w), w->limit);
}

pgy_status noise_walk_run(noise_walk *w, const pgy_tensor_map *feed, bool model_precision,
                          uint32_t runs, const execute_operators *operators,
                          const execute_watch *watch, pgy_error *err)
{
    const execute_limits limits = {.max_bytes = memory_limit_bytes(),
                                   .max_steps = runs * limit_of(w),
                                   .spent = &w->spent,
                                   .operators = operators,
                                   .watch = watch};
    pgy_tensor_map *out = NULL;
    w->depth = 0;
    w->spent = 0;
    pgy_status st = pgy_tensor_map_create(&out, err);
    if (!st) st = execute_graph(&w->plan, w->graph, feed, out, model_precision, &limits, err);
    pgy_tensor_map_destroy(out);
    w->exceeded = st && w->spent > limits.max_steps && !status_ends_all(st);
    return w->exceeded ? say_endless(w, st, err) : st;
}

void noise_walk_path(str *out, const noise_walk *w, const char *name, bool iterations)
{
    for (size_t i = 0; i + 1 < w->depth; i++) {
        const noise_step *s = &w->steps[i];
        const bool repeats =
            node_is(s->node, "Loop") || node_is(s->node, "Scan") || node_is(s->node, "SequenceMap");
        str_printf(out, "%s/", node_label(s->node));
        if (repeats && iterations)
            str_printf(out, "iter_%llu/", (unsigned long long)(s->begun ? s->begun - 1 : 0));
    }
    str_append(out, name);
}

/* ---- Types ---------------------------------------------------------------------------------- */

pgy_dtype noise_assumed(pgy_dtype declared, pgy_dtype assume)
{
    return assume && (declared == PGY_F32 || declared == PGY_F64) ? assume : declared;
}

pgy_status noise_check_type(pgy_dtype type, const char *field, pgy_error *err)
{
    if (!type || (pgy_dtype_is_float(type) && type != PGY_F8E8M0)) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "%s is %s; expected float32, float64, float16, bfloat16 or a float8 type",
                         field, pgy_dtype_name(type));
}

bool noise_keeps_input(const pgy_node *n, size_t i)
{
    return i > 0 && (node_is(n, "Resize") || node_is(n, "Upsample"));
}

pgy_status noise_round_nearest(pgy_tensor **out, const pgy_tensor *t, pgy_dtype type,
                               pgy_error *err)
{
    pgy_tensor *made = NULL;
    const size_t count = pgy_tensor_count(t);
    const pgy_dtype held = pgy_tensor_dtype(t);
    pgy_status st = tensor_create_raw(&made, PGY_F64, pgy_tensor_rank(t), pgy_tensor_shape(t), err);
    if (st) return st;
    for (size_t i = 0; i < count; i++) {
        op_f64(made)[i] = float_round(type, element_as_f64(held, pgy_tensor_data(t), i), false);
        if (!(i & 0xffff) && cancel_requested()) break;
    }
    st = cancel_check(err);
    if (st)
        pgy_tensor_release(made);
    else
        *out = made;
    return st;
}

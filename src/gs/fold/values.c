/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the nodes of a graph that depend on constants only, and makes their results constants. A
 * node is not run if its results exceed the size threshold and no smaller result needs them. If a
 * node fails, nothing in the graph is folded; with partitioning, only the failed node and those
 * that depend on it stay. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "graph/edit.h"
#include "gs/fold/fold.h"
#include "gs/fold/model.h"

static const char LOG_PATH[] = "gs/fold/values.c";

typedef struct level_run {
    gs_folder *f;
    pgy_gs_graph *g;
    fold_model model;
    fold_run run;
} level_run;

/* ---- Selecting nodes ------------------------------------------------------------------------- */

static bool is_wanted(const gs_folder *f, const pgy_gs_tensor *t)
{
    const uint64_t bytes = pgy_gs_size_bytes(t);
    return !pgy_gs_is_omitted(t) && (bytes == UINT64_MAX || bytes <= f->options.size_threshold);
}

static pgy_status mark_needed(pgy_gs_tensor *t, void *user, pgy_error *err)
{
    const gs_document *d = user;
    (void)err;
    tensor_box(t)->mark = d->epoch;
    return PGY_OK;
}

static bool is_needed(const gs_folder *f, const pgy_gs_node *n)
{
    for (size_t i = 0; i < n->output_count; i++)
        if (is_wanted(f, n->outputs[i]) || tensor_box(n->outputs[i])->mark == f->document->epoch)
            return true;
    return false;
}

/* Removes nodes that need not run from `nodes`, which are in topological order. */
static pgy_status select_nodes(gs_folder *f, pgy_gs_node **nodes, size_t *count, pgy_error *err)
{
    size_t first = *count;
    f->document->epoch++;
    for (size_t i = *count; i-- > 0;) {
        pgy_gs_node *n = nodes[i];
        if (!gs_fold_is_foldable(f, gs_node_box(n)->serial) || !is_needed(f, n)) continue;
        const pgy_status st = gs_each_dependency(n, mark_needed, f->document, err);
        if (st) return st;
        nodes[--first] = n;
    }
    memmove(nodes, nodes + first, (*count - first) * sizeof(*nodes));
    *count -= first;
    return PGY_OK;
}

/* Reports a node's failure: as an error if options.fail is set, else as a warning. */
static pgy_status tell(const level_run *r, const pgy_gs_node *n, pgy_status failure,
                       const char *text, pgy_error *err)
{
    str line = {0};
    if (n)
        gs_fold_describe(&line, n, text);
    else
        str_append(&line, text);
    pgy_status st = PGY_OK;
    if (r->f->options.fail)
        st = pgy_error_set(err, failure, "%s", str_text(&line));
    else if (r->f->options.partitioning == PGY_GS_PARTITION_NONE)
        LOG(WARNING,
            "Nothing was folded in graph '%s', because a node failed; set partitioning to fold the "
            "other nodes. %s",
            r->g->name, str_text(&line));
    else
        LOG(WARNING, "Not folded: %s", str_text(&line));
    str_deinit(&line);
    return st;
}

/* Runs the selected nodes. *kept: false if a node failed and, without partitioning, all results are
 * discarded. */
static pgy_status run_nodes(level_run *r, bool *kept, pgy_error *err)
{
    pgy_status st = PGY_OK;
    *kept = true;
    for (size_t i = 0; !st && *kept && i < r->model.node_count; i++) {
        pgy_error why = {0};
        const pgy_status failure = gs_fold_run_node(&r->run, i, &why);
        if (!failure) continue;
        *kept = r->f->options.partitioning != PGY_GS_PARTITION_NONE;
        st = tell(r, r->model.nodes[i], failure, why.text, err);
    }
    return st;
}

/* ---- Results --------------------------------------------------------------------------------- */

/* Makes t a constant that shares the bytes of initializer `origin`, with the shape of `values`.
 */
static pgy_status set_shared(pgy_gs_tensor *t, const pgy_onnx_tensor *origin,
                             const pgy_tensor *values, pgy_error *err)
{
    gs_document *d = tensor_box(t)->document;
    const pgy_onnx_tensor *made = weight_renamed(d->store, origin, t->name,
                                                 pgy_tensor_shape(values), pgy_tensor_rank(values));
    if (!made) return gs_no_memory(err);
    const pgy_status st = gs_set_stored(t, made, err);
    if (!st) gs_touch_tensor(t);
    return st;
}

static pgy_status keep_value(level_run *r, fold_value *v, pgy_error *err)
{
    bool done;
    pgy_status st = PGY_OK;
    if (!v->wanted || !v->computed || v->failed || !v->value) return PGY_OK;
    if (v->origin)
        st = set_shared(v->tensor, v->origin, v->value, err);
    else
        st = gs_fold_set(r->f, v->tensor, v->value, &done, err);
    gs_fold_release(v);
    return st;
}

static pgy_status keep_results(level_run *r, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < r->model.value_count; i++)
        st = keep_value(r, &r->model.values[i], err);
    for (size_t i = 0; !st && i < r->model.node_count; i++)
        st = gs_fold_drop_outputs(r->model.nodes[i], err);
    return st;
}

static void want(level_run *r, const pgy_gs_tensor *t)
{
    if (is_wanted(r->f, t)) r->model.values[r->f->states[tensor_box(t)->serial].slot].wanted = true;
}

static pgy_status run_level(level_run *r, pgy_gs_node **nodes, size_t count, pgy_error *err)
{
    pgy_error why = {0};
    bool kept = false;
    pgy_status st = gs_fold_model_init(&r->model, r->f, r->g, nodes, count, &why);
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    if (st) return tell(r, NULL, st, why.text, err);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < nodes[i]->output_count; k++) want(r, nodes[i]->outputs[k]);
    st = gs_fold_run_init(&r->run, &r->model, r->f->options.size_threshold, err);
    if (!st) st = run_nodes(r, &kept, err);
    if (!st && kept) st = keep_results(r, err);
    gs_fold_run_deinit(&r->run);
    gs_fold_model_deinit(&r->model);
    return st;
}

pgy_status gs_fold_values(gs_folder *f, pgy_gs_graph *g, pgy_error *err)
{
    level_run r = {.f = f, .g = g};
    pgy_gs_node **nodes = NULL;
    size_t count = g->node_count;
    pgy_status st = gs_order(&nodes, g, true, err);
    if (!st) st = gs_fold_propagate(f, g, nodes, err);
    if (!st) st = select_nodes(f, nodes, &count, err);
    if (!st && count) st = run_level(&r, nodes, count, err);
    mem_free(nodes);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the passes of constant folding. Each graph goes through them in a fixed order, then its
 * subgraphs; then its Ifs are replaced. Functions come last, from the end of their list. A folded
 * tensor stays the same object, so subgraphs that capture it see the constant. Only the pass for
 * Ifs changes the list of nodes. */
#include "gs/fold/fold.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/sized.h"
#include "gs/graph/document.h"

static const char LOG_PATH[] = "gs/fold/fold.c";

enum { MAX_DEPTH = 256 };

typedef pgy_status (*fold_pass)(gs_folder *f, pgy_gs_graph *g, pgy_error *err);

pgy_gs_fold_options pgy_gs_fold_options_default(void)
{
    return (pgy_gs_fold_options){.size = sizeof(pgy_gs_fold_options), .size_threshold = UINT64_MAX};
}

/* ---- Graphs ---------------------------------------------------------------------------------- */

static pgy_status fold_level(gs_folder *f, pgy_gs_graph *g, pgy_error *err);

static pgy_status fold_inside(pgy_gs_graph *g, void *user, pgy_error *err)
{
    return fold_level(user, g, err);
}

static pgy_status fold_subgraphs(gs_folder *f, pgy_gs_graph *g, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (f->options.keep_subgraphs) return PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++)
        if (gs_has_subgraphs(g->nodes[i])) st = gs_each_subgraph(g->nodes[i], fold_inside, f, err);
    return st;
}

static pgy_status fold_level(gs_folder *f, pgy_gs_graph *g, pgy_error *err)
{
    static const fold_pass PASSES[] = {gs_fold_lower,  gs_fold_casts,  gs_fold_shapes,
                                       gs_fold_values, fold_subgraphs, gs_fold_ifs};
    pgy_status st = PGY_OK;
    if (f->depth >= MAX_DEPTH)
        return pgy_error_set(err, PGY_E_FORMAT, "graph '%s' is nested more than %d levels deep",
                             g->name, MAX_DEPTH);
    f->depth++;
    for (size_t i = 0; !st && i < sizeof PASSES / sizeof *PASSES; i++) st = PASSES[i](f, g, err);
    f->depth--;
    return st;
}

static pgy_status fold_functions(gs_folder *f, const pgy_gs_graph *g, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (f->options.keep_functions || g->is_function) return PGY_OK;
    for (size_t i = f->document->function_count; !st && i-- > 0;) {
        pgy_gs_graph *function = f->document->functions[i];
        st = fold_level(f, function, err);
        if (st) pgy_error_prefix(err, st, "function '%s': ", function->name);
    }
    return st;
}

/* ---- Entry point ----------------------------------------------------------------------------- */

static pgy_status note_interface(gs_folder *f, const pgy_gs_graph *g, pgy_error *err)
{
    for (size_t i = 0; i < g->input_count + g->output_count; i++) {
        const bool input = i < g->input_count;
        const pgy_gs_tensor *t = input ? g->inputs[i] : g->outputs[i - g->input_count];
        fold_state *s = gs_fold_state(f, tensor_box(t)->serial);
        if (!s) return gs_no_memory(err);
        s->is_input |= input;
        s->is_output |= !input;
    }
    return PGY_OK;
}

static pgy_status prepare(gs_folder *f, pgy_error *err)
{
    const gs_document *d = f->document;
    pgy_status st = gs_function_index_init(&f->functions, d, err);
    if (st) return st;
    f->function_allowed = mem_calloc(d->function_count, 1);
    if (!f->function_allowed) return gs_no_memory(err);
    for (size_t i = 0; !st && i < d->graph_count; i++) st = note_interface(f, d->graphs[i], err);
    return st;
}

static void warn_of_large(const gs_folder *f)
{
    if (f->large_count == 0 || f->large.failed) return;
    LOG(WARNING,
        "Folding creates large constants; set a size threshold to keep the model small. Results "
        "above 1 MiB: %s",
        str_text(&f->large));
}

pgy_status pgy_gs_fold_constants(pgy_gs_graph *g, const pgy_gs_fold_options *options,
                                 pgy_error *err)
{
    gs_folder f = {.options = pgy_gs_fold_options_default()};
    if (!g) return pgy_error_set(err, PGY_E_ARGUMENT, "the graph must not be NULL");
    pgy_status st = SIZED_TAKE(pgy_gs_fold_options, &f.options, options, err);
    if (st) return st;
    f.document = graph_box(g)->document;
    st = prepare(&f, err);
    if (!st) st = fold_level(&f, g, err);
    if (!st) st = fold_functions(&f, g, err);
    if (!st) warn_of_large(&f);
    gs_function_index_deinit(&f.functions);
    for (size_t i = 0; i < f.state_capacity; i++) pgy_tensor_release(f.states[i].known);
    mem_free(f.function_allowed);
    mem_free(f.states);
    str_deinit(&f.large);
    return st;
}

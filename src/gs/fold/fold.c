/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the passes. Each level goes through them in a fixed order, then the inner levels, then the
 * level's Ifs; functions come last, from the end of their list. A folded tensor stays the same
 * object, so inner levels see the constant. Passes read the list of nodes and a separate running
 * order; only the pass for Ifs changes the list. */
#include "gs/fold/fold.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/sized.h"
#include "gs/graph/document.h"
#include "tensor/tensor.h"

static const char LOG_PATH[] = "onnx_graphsurgeon/ir/graph.py";

enum { MAX_DEPTH = 256 };
static const uint64_t LARGE_BYTES = 1u << 20; /* larger results are listed in a warning */

typedef pgy_status (*fold_pass)(gs_folder *f, pgy_gs_graph *g, pgy_error *err);

pgy_gs_fold_options pgy_gs_fold_options_default(void)
{
    return (pgy_gs_fold_options){.size = sizeof(pgy_gs_fold_options), .size_threshold = UINT64_MAX};
}

/* ---- What passes share ----------------------------------------------------------------------- */

fold_state *gs_fold_state(gs_folder *f, uint64_t serial)
{
    void *states = f->states;
    const size_t before = f->state_capacity;
    if (serial >= SIZE_MAX / sizeof *f->states) return NULL;
    if (serial >= before) {
        if (!mem_grow(&states, &f->state_capacity, (size_t)serial + 1, sizeof *f->states))
            return NULL;
        f->states = states;
        memset(f->states + before, 0, (f->state_capacity - before) * sizeof *f->states);
    }
    return &f->states[serial];
}

bool gs_fold_is(const pgy_gs_node *n, const char *op)
{
    return gs_is_default_domain(n->domain) && strcmp(n->op, op) == 0;
}

bool gs_fold_is_excluded(const gs_folder *f, const pgy_gs_node *n)
{
    return f->options.exclude && f->options.exclude(n, f->options.user);
}

bool gs_fold_makes(const gs_folder *f, const pgy_gs_node *n, const pgy_gs_tensor *t)
{
    return !pgy_gs_is_omitted(t) && t->producer_count == 1 && t->producers[0] == n &&
           !gs_fold_is_input(f, t);
}

bool gs_fold_is_constant(const pgy_gs_tensor *t)
{
    return t->kind == PGY_GS_CONSTANT && t->dtype != PGY_DTYPE_NONE;
}

static void note_large(gs_folder *f, const pgy_gs_tensor *t, uint64_t bytes)
{
    if (bytes <= LARGE_BYTES || f->options.size_threshold != UINT64_MAX) return;
    str_printf(&f->large, "%s%s (%llu MiB)", f->large_count++ ? ", " : "", t->name,
               (unsigned long long)(bytes >> 20));
}

pgy_status gs_fold_set(gs_folder *f, pgy_gs_tensor *t, pgy_tensor *values, bool *done,
                       pgy_error *err)
{
    const uint64_t bytes = pgy_tensor_size_bytes(values);
    pgy_tensor *own = NULL;
    pgy_status st = PGY_OK;
    *done = false;
    if (bytes > f->options.size_threshold) return PGY_OK;
    /* A borrowed tensor would keep the document alive, and the document would keep the tensor. */
    if (tensor_is_borrowed(values)) st = pgy_tensor_copy(&own, pgy_tensor_view(values), err);
    if (!st) st = pgy_gs_to_constant(t, own ? own : values, err);
    pgy_tensor_release(own);
    if (st) return st;
    note_large(f, t, bytes);
    *done = true;
    return PGY_OK;
}

static bool is_folded(const pgy_gs_tensor *t)
{
    return t->kind == PGY_GS_CONSTANT && !pgy_gs_is_omitted(t);
}

/* Omitting an output before others is not always valid: runtimes want all outputs of a Split. */
static pgy_status replace_output(pgy_gs_node *n, size_t i, pgy_error *err)
{
    const pgy_gs_tensor *t = n->outputs[i];
    pgy_gs_tensor *unused = NULL;
    str name = {0};
    str_printf(&name, "%s_unused", t->name);
    gs_fold_free_name(&name, n->graph);
    pgy_status st = name.failed ? gs_no_memory(err)
                                : pgy_gs_variable(&unused, n->graph, str_text(&name), t->dtype,
                                                  t->rank, t->dims, err);
    if (!st) st = pgy_gs_set_output(n, i, unused, err);
    str_deinit(&name);
    return st;
}

pgy_status gs_fold_drop_outputs(pgy_gs_node *n, pgy_error *err)
{
    pgy_status st = PGY_OK;
    size_t kept = 0;
    for (size_t i = 0; i < n->output_count; i++)
        if (!is_folded(n->outputs[i]) && !pgy_gs_is_omitted(n->outputs[i])) kept = i + 1;
    if (kept == 0) return pgy_gs_set_outputs(n, NULL, 0, err);
    for (size_t i = 0; !st && i < n->output_count; i++)
        if (is_folded(n->outputs[i])) st = replace_output(n, i, err);
    return st;
}

bool gs_fold_ints(pgy_gs_tensor *t, int64_t **out, size_t *count, size_t *rank, int64_t *shape)
{
    pgy_tensor *values = NULL, *wide = NULL;
    bool done = false;
    if (!gs_fold_is_constant(t) || !pgy_dtype_is_integer(t->dtype) || t->rank > PGY_MAX_RANK)
        return false;
    if (!pgy_gs_values(&values, t, NULL) &&
        !pgy_tensor_cast(&wide, pgy_tensor_view(values), PGY_I64, NULL)) {
        const size_t n = pgy_tensor_count(wide);
        int64_t *copy = mem_calloc(n, sizeof *copy);
        if (copy) {
            if (n) memcpy(copy, pgy_tensor_data(wide), n * sizeof *copy);
            *rank = pgy_tensor_rank(wide);
            for (size_t i = 0; i < *rank; i++) shape[i] = pgy_tensor_shape(wide)[i];
            *out = copy;
            *count = n;
            done = true;
        }
    }
    pgy_tensor_release(values);
    pgy_tensor_release(wide);
    return done;
}

const char *gs_fold_describe(str *out, const pgy_gs_node *n, const char *text)
{
    str named = {0};
    str_printf(&named, "%s '%s': ", n->op, gs_node_label(n));
    if (!named.failed && str_starts_with(text, str_text(&named))) text += named.size;
    str_printf(out, "node '%s' (%s): %s", gs_node_label(n), n->op, text);
    str_deinit(&named);
    return str_text(out);
}

/* ---- Levels ---------------------------------------------------------------------------------- */

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
        return pgy_error_set(err, PGY_E_FORMAT, "graph '%s' is nested more than %d deep", g->name,
                             MAX_DEPTH);
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

/* ---- The whole ------------------------------------------------------------------------------- */

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
        "Folding makes large constants; a size threshold would keep the model small. Results above "
        "1 MiB: %s",
        str_text(&f->large));
}

pgy_status pgy_gs_fold_constants(pgy_gs_graph *g, const pgy_gs_fold_options *options,
                                 pgy_error *err)
{
    gs_folder f = {.options = pgy_gs_fold_options_default()};
    if (!g) return pgy_error_set(err, PGY_E_ARGUMENT, "folding needs a graph");
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds one-to-many replacements: a node (the whole) whose outputs stand for tensors of the other
 * graph that a region of left-over nodes (the parts) computes from nothing but the whole's inputs
 * and constants. Nothing else may read what lies inside the region. A whole that was paired with
 * one node of the region counts only if it changed: else the rest of the region was just removed.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "viewer/diff.h"

enum { REGION_LIMIT = 256, OUTPUT_LIMIT = 16, INPUT_LIMIT = 64, WIDE_USE = 64, PASSES = 4 };

typedef struct fuser {
    view_match *m;
    int part, whole; /* sides */
    uint32_t *stamp; /* of each node of the part side: the region that it was last seen in */
    uint32_t stamps;
    uint32_t node, pair; /* the whole, and its counterpart or VIEW_NONE */
    uint32_t region[REGION_LIMIT], count;
    uint32_t outputs[OUTPUT_LIMIT], output_count; /* tensors of the part side */
    uint32_t inputs[INPUT_LIMIT], input_count;
    bool reads_input;
} fuser;

static const view_side *parts_of(const fuser *f)
{
    return &f->m->side[f->part];
}

static const view_side *wholes_of(const fuser *f)
{
    return &f->m->side[f->whole];
}

/* ---- Tensors that correspond ----------------------------------------------------------------- */

/* May the node be a part? */
static bool is_free(const fuser *f, uint32_t node)
{
    const view_side *s = parts_of(f);
    if (node == VIEW_NONE || s->graph->nodes[node].kind != VIEW_NODE) return false;
    return node == f->pair || view_is_alone(s, node) || s->whole[node] == f->node;
}

static bool has(const uint32_t *list, uint32_t count, uint32_t item)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == item) return true;
    return false;
}

/* What the counterparts of a tensor's readers read in its place, if a free node computes it. */
static uint32_t read_instead(const fuser *f, uint32_t tensor)
{
    const view_side *w = wholes_of(f), *p = parts_of(f);
    for (uint32_t u = w->use_start[tensor];
         u < w->use_start[tensor + 1] && u - w->use_start[tensor] < WIDE_USE; u++) {
        const uint32_t other = w->pair[w->uses[u]];
        if (other == VIEW_NONE) continue;
        const view_node *x = &w->graph->nodes[w->uses[u]], *y = &p->graph->nodes[other];
        for (uint32_t k = 0; k < x->input_count && k < y->input_count && k < INPUT_LIMIT; k++)
            if (x->inputs[k] == tensor && y->inputs[k] != VIEW_NONE &&
                is_free(f, p->graph->tensors[y->inputs[k]].producer))
                return y->inputs[k];
    }
    return VIEW_NONE;
}

/* The tensor of the part side that an output of the whole stands for. */
static uint32_t stands_for(const fuser *f, uint32_t tensor)
{
    const view_side *p = parts_of(f);
    const uint32_t t = read_instead(f, tensor);
    if (t != VIEW_NONE) return t;
    const uint32_t n = view_graph_tensor(p->graph, wholes_of(f)->graph->tensors[tensor].name);
    return n != VIEW_NONE && is_free(f, p->graph->tensors[n].producer) ? n : VIEW_NONE;
}

/* The tensor of the part side that an input of the whole is: what the counterpart of its producer
 * computes, or else the tensor of the same name. */
static uint32_t comes_from(const fuser *f, uint32_t tensor)
{
    const view_side *w = wholes_of(f), *p = parts_of(f);
    if (w->tensor_pair[tensor] != VIEW_NONE) return w->tensor_pair[tensor];
    const uint32_t from = w->graph->tensors[tensor].producer;
    if (from == VIEW_NONE) return VIEW_NONE;
    if (w->pair[from] != VIEW_NONE) {
        const view_node *x = &w->graph->nodes[from], *y = &p->graph->nodes[w->pair[from]];
        for (uint32_t k = 0; k < x->output_count && k < y->output_count; k++)
            if (x->outputs[k] == tensor) return y->outputs[k];
    }
    return view_graph_tensor(p->graph, w->graph->tensors[tensor].name);
}

/* ---- Regions --------------------------------------------------------------------------------- */

static bool add_part(fuser *f, uint32_t node)
{
    if (f->stamp[node] == f->stamps) return true;
    if (!is_free(f, node) || f->count == REGION_LIMIT) return false;
    f->stamp[node] = f->stamps;
    f->region[f->count++] = node;
    return true;
}

static bool add_producers(fuser *f, uint32_t node)
{
    const view_graph *g = parts_of(f)->graph;
    for (uint32_t k = 0; k < g->nodes[node].input_count; k++) {
        const uint32_t t = g->nodes[node].inputs[k];
        if (t == VIEW_NONE || g->tensors[t].producer == VIEW_NONE) continue;
        if (has(f->inputs, f->input_count, t))
            f->reads_input = true;
        else if (!add_part(f, g->tensors[t].producer))
            return false;
    }
    return true;
}

/* Does only the region read what lies inside of it? */
static bool is_closed(const fuser *f)
{
    const view_side *p = parts_of(f);
    for (uint32_t i = 0; i < f->count; i++) {
        const view_node *n = &p->graph->nodes[f->region[i]];
        for (uint32_t k = 0; k < n->output_count; k++) {
            const uint32_t t = n->outputs[k];
            if (t == VIEW_NONE || has(f->outputs, f->output_count, t)) continue;
            if (p->use_start[t + 1] - p->use_start[t] > REGION_LIMIT) return false;
            for (uint32_t u = p->use_start[t]; u < p->use_start[t + 1]; u++)
                if (f->stamp[p->uses[u]] != f->stamps) return false;
        }
    }
    return true;
}

static bool find_border(fuser *f)
{
    const view_node *n = &wholes_of(f)->graph->nodes[f->node];
    f->input_count = f->output_count = f->count = 0;
    f->reads_input = false;
    f->stamps++;
    if (n->output_count > OUTPUT_LIMIT || n->input_count > INPUT_LIMIT) return false;
    for (uint32_t k = 0; k < n->output_count; k++) {
        const uint32_t t = n->outputs[k] == VIEW_NONE ? VIEW_NONE : stands_for(f, n->outputs[k]);
        if (t != VIEW_NONE) f->outputs[f->output_count++] = t;
    }
    for (uint32_t k = 0; k < n->input_count && f->output_count; k++) {
        const uint32_t t = n->inputs[k] == VIEW_NONE ? VIEW_NONE : comes_from(f, n->inputs[k]);
        if (t != VIEW_NONE) f->inputs[f->input_count++] = t;
    }
    return f->output_count > 0;
}

static bool find_region(fuser *f)
{
    const view_graph *g = parts_of(f)->graph;
    if (!find_border(f)) return false;
    for (uint32_t i = 0; i < f->output_count; i++)
        if (has(f->inputs, f->input_count, f->outputs[i]) ||
            !add_part(f, g->tensors[f->outputs[i]].producer))
            return false;
    for (uint32_t i = 0; i < f->count; i++)
        if (!add_producers(f, f->region[i])) return false;
    return f->reads_input && is_closed(f) &&
           (f->pair == VIEW_NONE || f->stamp[f->pair] == f->stamps);
}

/* ---- Plans ----------------------------------------------------------------------------------- */

/* In a plan, what a layer writes may be read under another name, since a reshape moves nothing. A
 * layer that is the only one left over behind its inputs stands for all that is left over behind
 * them in the model. */
static bool is_only_reader(const fuser *f)
{
    const view_side *w = wholes_of(f);
    const view_node *n = &w->graph->nodes[f->node];
    for (uint32_t k = 0; k < n->input_count; k++) {
        const uint32_t t = n->inputs[k];
        for (uint32_t u = t == VIEW_NONE ? 0 : w->use_start[t];
             t != VIEW_NONE && u < w->use_start[t + 1]; u++)
            if (w->uses[u] != f->node && w->graph->nodes[w->uses[u]].kind == VIEW_NODE &&
                view_is_alone(w, w->uses[u]))
                return false;
    }
    return true;
}

static bool add_readers(fuser *f, uint32_t tensor)
{
    const view_side *p = parts_of(f);
    if (p->use_start[tensor + 1] - p->use_start[tensor] > REGION_LIMIT) return false;
    for (uint32_t u = p->use_start[tensor]; u < p->use_start[tensor + 1]; u++)
        if (is_free(f, p->uses[u]) && !add_part(f, p->uses[u])) return false;
    return true;
}

static bool find_inputs(fuser *f)
{
    const view_graph *g = wholes_of(f)->graph;
    const view_node *n = &g->nodes[f->node];
    f->input_count = f->output_count = f->count = 0;
    f->stamps++;
    for (uint32_t k = 0; k < n->input_count; k++) {
        if (n->inputs[k] == VIEW_NONE || g->tensors[n->inputs[k]].producer == VIEW_NONE) continue;
        const uint32_t t = f->input_count < INPUT_LIMIT ? comes_from(f, n->inputs[k]) : VIEW_NONE;
        if (t == VIEW_NONE) return false;
        f->inputs[f->input_count++] = t;
    }
    return f->input_count > 0;
}

static bool find_behind(fuser *f)
{
    const view_graph *g = parts_of(f)->graph;
    if (f->m->diff || f->pair != VIEW_NONE || !is_only_reader(f) || !find_inputs(f)) return false;
    for (uint32_t i = 0; i < f->input_count; i++)
        if (!add_readers(f, f->inputs[i])) return false;
    for (uint32_t i = 0; i < f->count; i++) {
        const view_node *n = &g->nodes[f->region[i]];
        for (uint32_t k = 0; k < n->output_count; k++)
            if (n->outputs[k] != VIEW_NONE && !add_readers(f, n->outputs[k])) return false;
    }
    for (uint32_t i = 0; i < f->count; i++) {
        const view_node *n = &g->nodes[f->region[i]];
        for (uint32_t k = 0; k < n->input_count; k++) {
            const uint32_t t = n->inputs[k];
            const uint32_t from = t == VIEW_NONE ? VIEW_NONE : g->tensors[t].producer;
            if (from != VIEW_NONE && f->stamp[from] != f->stamps &&
                !has(f->inputs, f->input_count, t))
                return false;
        }
    }
    return f->count > 0;
}

/* ---- Wholes ---------------------------------------------------------------------------------- */

static void pair_outputs(fuser *f)
{
    const view_node *n = &wholes_of(f)->graph->nodes[f->node];
    for (uint32_t k = 0; k < n->output_count; k++) {
        const uint32_t u = n->outputs[k], t = u == VIEW_NONE ? VIEW_NONE : stands_for(f, u);
        view_pair_tensors(f->m, f->part ? u : t, f->part ? t : u);
    }
}

/* Is the counterpart something else than the whole? */
static bool is_touched(const fuser *f)
{
    const view_node *x = &wholes_of(f)->graph->nodes[f->node];
    const view_node *y = &parts_of(f)->graph->nodes[f->pair];
    return wholes_of(f)->change[f->node] == VIEW_CHANGED || x->input_count != y->input_count ||
           strcmp(view_op_name(wholes_of(f)->graph, f->node),
                  view_op_name(parts_of(f)->graph, f->pair)) != 0;
}

/* Does the region compute anything besides what the counterpart does? Casts and reshapes around a
 * node that changed, as in a conversion to another type, are nodes of their own. */
static bool adds_work(const fuser *f)
{
    const view_graph *g = parts_of(f)->graph;
    const view_node *n = &wholes_of(f)->graph->nodes[f->node], *pair = &g->nodes[f->pair];
    /* A node of the same name that makes the same output changed in place. */
    if (*n->name && strcmp(n->name, pair->name) == 0 && pair->output_count &&
        has(f->outputs, f->output_count, pair->outputs[0]))
        return false;
    if (strcmp(view_op_name(wholes_of(f)->graph, f->node), view_op_name(g, f->pair)) != 0)
        return true;
    for (uint32_t i = 0; i < f->count; i++) {
        const view_op *op = &g->ops[g->nodes[f->region[i]].op];
        const bool moves = op->category == VIEW_SHAPE || op->category == VIEW_TENSOR ||
                           op->category == VIEW_DATA || op->category == VIEW_QUANTIZATION ||
                           strcmp(op->name, "Cast") == 0 || strcmp(op->name, "Identity") == 0;
        if (f->region[i] != f->pair && !moves) return true;
    }
    return false;
}

static bool try_whole(fuser *f, uint32_t node)
{
    const view_side *w = wholes_of(f);
    if (w->graph->nodes[node].kind != VIEW_NODE || w->whole[node] != VIEW_NONE) return false;
    f->node = node;
    f->pair = w->pair[node];
    if (w->part_count[node]) {
        pair_outputs(f);
        return false;
    }
    if ((f->pair != VIEW_NONE && !is_touched(f)) || (!find_region(f) && !find_behind(f)))
        return false;
    if (f->pair != VIEW_NONE && (f->count == 1 || !adds_work(f))) return false;
    pair_outputs(f);
    if (f->count == 1)
        view_pair_nodes(f->m, f->part ? node : f->region[0], f->part ? f->region[0] : node);
    for (uint32_t i = 0; i < f->count && f->count > 1; i++)
        view_join_node(f->m, f->part, f->region[i], node);
    return true;
}

pgy_status view_match_fused(view_match *m, pgy_error *err)
{
    const uint32_t counts[2] = {m->side[0].graph->node_count, m->side[1].graph->node_count};
    fuser *f = mem_calloc(1, sizeof *f);
    uint32_t *stamp =
        mem_calloc((size_t)(counts[0] > counts[1] ? counts[0] : counts[1]) + 1, sizeof *stamp);
    bool any = f && stamp;
    for (int pass = 0; any && pass < PASSES; pass++) {
        any = false;
        for (int part = 0; part < 2; part++) {
            const uint32_t stamps = f->stamps;
            *f = (fuser){.m = m, .part = part, .whole = !part, .stamp = stamp, .stamps = stamps};
            for (uint32_t i = 0; i < counts[!part] && !cancel_requested(); i++)
                any = try_whole(f, i) || any;
        }
    }
    const bool ok = f && stamp;
    mem_free(f);
    mem_free(stamp);
    if (!ok) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing two graphs");
    return cancel_check(err);
}

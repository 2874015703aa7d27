/* SPDX-License-Identifier: Apache-2.0 */
/* The merged graph of two graphs: pairs once, everything else as it is, the tensors of both. A node
 * that replaces several, or is replaced by several, is drawn as a frame around these. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "viewer/merge.h"

enum { DEPTH_LIMIT = 200 };

/* ---- Tensors --------------------------------------------------------------------------------- */

static void add_tensors(merger *g)
{
    for (int side = 0; side < 2; side++) {
        const view_side *s = &g->m->side[side];
        for (uint32_t i = 0; i < s->graph->tensor_count && !g->b.failed; i++) {
            const uint32_t pair = s->tensor_pair[i];
            if (side == 1 && pair != VIEW_NONE) {
                g->tensor[1][i] = g->tensor[0][pair];
                continue;
            }
            view_tensor like = s->graph->tensors[i];
            like.producer = VIEW_NONE;
            like.container = 0;
            g->tensor[side][i] = collect_tensor(&g->b, &like);
        }
    }
}

/* Appends the merged tensors of a list that were not in it. */
static void append_tensors(merger *g, uint32_t *out, uint32_t *count, const uint32_t *list,
                           uint32_t length, int side)
{
    for (uint32_t i = 0; i < length; i++) {
        const uint32_t t = list[i] == VIEW_NONE ? VIEW_NONE : g->tensor[side][list[i]];
        if (side == 1 && (t == VIEW_NONE || g->stamp[t] == g->stamps)) continue;
        if (t != VIEW_NONE) g->stamp[t] = g->stamps;
        out[(*count)++] = t;
    }
}

/* The node of the other side that is drawn as a frame around this one, if this is its first or last
 * part; NULL: none. */
static const view_node *frame_at(const merger *g, int side, uint32_t node, bool first)
{
    const uint32_t whole = g->m->side[side].whole[node];
    if (whole == VIEW_NONE || !g->is_framed[!side][whole]) return NULL;
    const item *frame = &g->items[g->starts[!side][0] + whole];
    const uint32_t at = g->starts[side][0] + node;
    return (first ? frame->first : frame->last) == at ? &merger_graph(g, !side)->nodes[whole]
                                                      : NULL;
}

/* Appends the tensors of a frame's node that only its side has, but no weights: they connect the
 * frame with nodes that only this side has. */
static void append_border(merger *g, uint32_t *out, uint32_t *count, const uint32_t *list,
                          uint32_t length, int side)
{
    const view_side *s = &g->m->side[side];
    for (uint32_t i = 0; i < length; i++) {
        const uint32_t t = list[i];
        if (t == VIEW_NONE || s->tensor_pair[t] != VIEW_NONE ||
            s->graph->tensors[t].producer == VIEW_NONE || g->stamp[g->tensor[side][t]] == g->stamps)
            continue;
        g->stamp[g->tensor[side][t]] = g->stamps;
        out[(*count)++] = g->tensor[side][t];
    }
}

/* The tensors that a node has in A, then those that only its counterpart has, then those of the
 * frame whose first (inputs) or last part (outputs) it is. */
static uint32_t *merge_lists(merger *g, uint32_t *count, const view_node *const *both,
                             const view_node *frame, int frame_side, bool inputs)
{
    const view_node *all[3] = {both[0], both[1], frame};
    uint32_t room = 0;
    *count = 0;
    for (int i = 0; i < 3; i++)
        if (all[i]) room += inputs ? all[i]->input_count : all[i]->output_count;
    uint32_t *out = collect_list(&g->b, room);
    g->stamps++;
    for (int i = 0; i < 3 && out && !g->b.failed; i++) {
        if (!all[i]) continue;
        const uint32_t *list = inputs ? all[i]->inputs : all[i]->outputs;
        const uint32_t length = inputs ? all[i]->input_count : all[i]->output_count;
        if (i < 2)
            append_tensors(g, out, count, list, length, i);
        else
            append_border(g, out, count, list, length, frame_side);
    }
    return out;
}

/* ---- Nodes and containers -------------------------------------------------------------------- */

static void add_node(merger *g, int side, uint32_t i, uint32_t parent)
{
    const view_side *s = &g->m->side[side];
    const uint32_t pair = side == 0 ? s->pair[i] : VIEW_NONE;
    const view_node *both[2] = {NULL, NULL};
    both[side] = &s->graph->nodes[i];
    if (pair != VIEW_NONE) both[1] = &merger_graph(g, 1)->nodes[pair];
    view_node like = *both[side];
    const view_op *op = like.op < s->graph->op_count ? &s->graph->ops[like.op] : NULL;
    like.op = collect_op(&g->b, op ? op->name : "", op ? op->domain : "");
    like.parent = parent;
    like.inputs = merge_lists(g, &like.input_count, both, frame_at(g, side, i, true), !side, true);
    like.outputs =
        merge_lists(g, &like.output_count, both, frame_at(g, side, i, false), !side, false);
    const uint32_t at = collect_node(&g->b, &like);
    if (g->b.failed) return;
    g->nodes[side][i] = at;
    if (pair != VIEW_NONE) g->nodes[1][pair] = at;
    for (uint32_t k = 0; k < like.output_count; k++) {
        view_tensor *t = like.outputs[k] == VIEW_NONE ? NULL : &g->b.tensors[like.outputs[k]];
        if (!t || t->producer != VIEW_NONE) continue;
        t->producer = at;
        t->container = parent;
    }
}

static void add_list(merger *g, uint32_t list, uint32_t parent, int depth);

static void add_container(merger *g, int side, uint32_t c, uint32_t parent, int depth)
{
    view_container like = merger_graph(g, side)->containers[c];
    if (like.node != VIEW_NONE) {
        add_node(g, side, like.node, parent);
        like.node = g->nodes[side][like.node];
    }
    like.parent = parent;
    like.children = NULL;
    like.child_count = 0;
    const uint32_t at = collect_container(&g->b, &like);
    if (g->b.failed) return;
    if (like.node != VIEW_NONE) g->b.nodes[like.node].parent = at;
    add_list(g, g->starts[side][1] + c, at, depth);
}

static void add_frame(merger *g, int side, uint32_t i, uint32_t parent, int depth)
{
    const view_side *s = &g->m->side[side];
    const view_node *n = &s->graph->nodes[i];
    str note = {0};
    str_printf(&note, side ? "%u nodes became one: %s" : "%u nodes were one: %s", s->part_count[i],
               view_op_name(s->graph, i));
    const view_container like = {.kind = VIEW_FUSED,
                                 .name = *n->name ? n->name : view_op_name(s->graph, i),
                                 .note = collect_take(&g->b, &note),
                                 .parent = parent,
                                 .node = VIEW_NONE,
                                 .state = VIEW_OPEN};
    const uint32_t at = collect_container(&g->b, &like);
    if (!g->b.failed) add_list(g, g->starts[side][0] + i, at, depth);
}

static void add_list(merger *g, uint32_t list, uint32_t parent, int depth)
{
    if (depth >= DEPTH_LIMIT) return;
    for (uint32_t at = g->items[list].first; at != VIEW_NONE && !g->b.failed;
         at = g->items[at].next) {
        const int side = at >= g->starts[1][0];
        if (cancel_requested()) return;
        if (at >= g->starts[side][1])
            add_container(g, side, at - g->starts[side][1], parent, depth + 1);
        else if (g->is_framed[side][at - g->starts[side][0]])
            add_frame(g, side, at - g->starts[side][0], parent, depth + 1);
        else
            add_node(g, side, at - g->starts[side][0], parent);
    }
}

static void add_roots(merger *g)
{
    for (int side = 0; side < 2; side++) {
        const view_graph *graph = merger_graph(g, side);
        for (uint32_t c = 0; c < graph->container_count; c++)
            if (merge_is_root(graph, c) && g->container[side][c] == g->starts[side][1] + c)
                add_container(g, side, c, VIEW_NONE, 0);
    }
}

/* ---- All of it ------------------------------------------------------------------------------- */

static bool make_room(merger *g, arena *memory)
{
    size_t items = 0, tensors = 1;
    for (int side = 0; side < 2; side++) {
        const view_graph *graph = merger_graph(g, side);
        g->starts[side][0] = (uint32_t)items;
        items += graph->node_count;
        g->starts[side][1] = (uint32_t)items;
        items += graph->container_count;
        tensors += (size_t)graph->tensor_count + graph->node_count;
        g->container[side] = arena_alloc_array(memory, graph->container_count, sizeof(uint32_t));
        g->is_framed[side] = arena_alloc_array(memory, graph->node_count, sizeof(bool));
        if (!g->container[side] || !g->is_framed[side]) return false;
    }
    if (items >= VIEW_NONE) return false;
    g->items = arena_alloc_array(memory, items, sizeof *g->items);
    g->stamp = arena_alloc_array(memory, tensors, sizeof *g->stamp);
    if (!g->items || !g->stamp) return false;
    for (size_t i = 0; i < items; i++)
        g->items[i] = (item){VIEW_NONE, VIEW_NONE, VIEW_NONE, VIEW_NONE};
    return true;
}

static void merge_all(merger *g)
{
    const view_graph *a = merger_graph(g, 0), *b = merger_graph(g, 1);
    collect_property(&g->b, "before", a->name);
    collect_property(&g->b, "after", b->name);
    merge_order(g);
    memset(g->stamp, 0, ((size_t)a->node_count + b->node_count) * sizeof *g->stamp);
    add_tensors(g);
    add_roots(g);
}

pgy_status view_merge(view_graph **out, const view_match *m, uint32_t *nodes[2],
                      uint32_t *tensors[2], pgy_error *err)
{
    arena memory = {0};
    merger g = {.m = m, .nodes = nodes, .tensor = {tensors[0], tensors[1]}};
    str name = {0};
    strvec warnings = {0};
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < m->side[side].graph->node_count; i++) nodes[side][i] = VIEW_NONE;
    str_printf(&name, "%s and %s", m->side[0].graph->name, m->side[1].graph->name);
    pgy_status st = collect_start(&g.b, "merged", str_text(&name), &warnings, err);
    if (!st && !make_room(&g, &memory))
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory while merging two graphs");
    if (!st) {
        g.b.g->role = "merged";
        merge_all(&g);
        st = cancel_check(err);
    }
    if (!st) st = collect_finish(out, &g.b, err);
    collect_deinit(&g.b);
    str_deinit(&name);
    strvec_deinit(&warnings);
    arena_deinit(&memory);
    return st;
}

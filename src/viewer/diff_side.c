/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of one side of a comparison of two graphs, and pairs of nodes and tensors. */
#include <stdlib.h>
#include <string.h>

#include "viewer/diff.h"

/* ---- Sides ----------------------------------------------------------------------------------- */

const char *view_op_name(const view_graph *g, uint32_t node)
{
    const uint32_t op = g->nodes[node].op;
    return op < g->op_count ? g->ops[op].name : "";
}

bool view_is_constant(const view_graph *g, uint32_t tensor)
{
    const view_tensor *t = &g->tensors[tensor];
    return t->producer == VIEW_NONE && t->kind != VIEW_GRAPH_INPUT;
}

bool view_is_alone(const view_side *s, uint32_t node)
{
    return s->pair[node] == VIEW_NONE && s->whole[node] == VIEW_NONE && !s->part_count[node];
}

static uint32_t *filled(arena *memory, size_t count)
{
    uint32_t *items = arena_alloc_array(memory, count + 1, sizeof *items);
    for (size_t i = 0; items && i <= count; i++) items[i] = VIEW_NONE;
    return items;
}

static int by_source(const void *x, const void *y)
{
    const view_source_entry *a = x, *b = y;
    if (a->source != b->source) return (uintptr_t)a->source < (uintptr_t)b->source ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static void list_uses(view_side *s)
{
    const view_graph *g = s->graph;
    uint32_t *start = s->use_start;
    for (uint32_t i = 0; i < g->node_count; i++)
        for (uint32_t k = 0; k < g->nodes[i].input_count; k++)
            if (g->nodes[i].inputs[k] != VIEW_NONE) start[g->nodes[i].inputs[k] + 1]++;
    for (uint32_t t = 0; t < g->tensor_count; t++) start[t + 1] += start[t];
    for (uint32_t i = 0; i < g->node_count; i++)
        for (uint32_t k = 0; k < g->nodes[i].input_count; k++)
            if (g->nodes[i].inputs[k] != VIEW_NONE) s->uses[start[g->nodes[i].inputs[k]]++] = i;
    for (uint32_t t = g->tensor_count; t > 0; t--) start[t] = start[t - 1];
    start[0] = 0;
}

bool view_side_init(view_side *s, const view_graph *g, arena *memory)
{
    size_t inputs = 0;
    for (uint32_t i = 0; i < g->node_count; i++) inputs += g->nodes[i].input_count;
    if (inputs >= VIEW_NONE) return false;
    *s = (view_side){.graph = g};
    s->pair = filled(memory, g->node_count);
    s->whole = filled(memory, g->node_count);
    s->tensor_pair = filled(memory, g->tensor_count);
    s->part_count = arena_alloc_array(memory, (size_t)g->node_count + 1, sizeof *s->part_count);
    s->use_start = arena_alloc_array(memory, (size_t)g->tensor_count + 2, sizeof *s->use_start);
    s->uses = arena_alloc_array(memory, inputs + 1, sizeof *s->uses);
    s->change = arena_alloc_array(memory, (size_t)g->node_count + 1, sizeof *s->change);
    s->sources = arena_alloc_array(memory, (size_t)g->node_count + 1, sizeof *s->sources);
    if (!s->pair || !s->whole || !s->tensor_pair || !s->part_count || !s->use_start || !s->uses ||
        !s->change || !s->sources)
        return false;
    list_uses(s);
    for (uint32_t i = 0; i < g->node_count; i++)
        if (g->nodes[i].source)
            s->sources[s->source_count++] = (view_source_entry){g->nodes[i].source, i};
    qsort(s->sources, s->source_count, sizeof *s->sources, by_source);
    return true;
}

uint32_t view_find_source(const view_side *s, const pgy_onnx_node *source)
{
    uint32_t low = 0, high = s->source_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if ((uintptr_t)s->sources[middle].source < (uintptr_t)source)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->source_count && s->sources[low].source == source ? low : s->source_count;
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

void view_pair_nodes(view_match *m, uint32_t a, uint32_t b)
{
    m->side[0].pair[a] = b;
    m->side[1].pair[b] = a;
}

void view_pair_tensors(view_match *m, uint32_t a, uint32_t b)
{
    if (a == VIEW_NONE || b == VIEW_NONE || m->side[0].tensor_pair[a] != VIEW_NONE ||
        m->side[1].tensor_pair[b] != VIEW_NONE)
        return;
    m->side[0].tensor_pair[a] = b;
    m->side[1].tensor_pair[b] = a;
}

void view_join_node(view_match *m, int side, uint32_t part, uint32_t whole)
{
    view_side *s = &m->side[side], *other = &m->side[!side];
    if (s->pair[part] != VIEW_NONE) {
        other->pair[s->pair[part]] = VIEW_NONE;
        s->pair[part] = VIEW_NONE;
    }
    s->whole[part] = whole;
    other->part_count[whole]++;
}

void view_match_deinit(view_match *m)
{
    pgy_diff_destroy(m->diff);
    arena_deinit(&m->memory);
    *m = (view_match){0};
}

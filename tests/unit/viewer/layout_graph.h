/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs made by hand for tests of the layout: nodes, edges and containers by number. */
#ifndef TEST_VIEWER_LAYOUT_GRAPH_H
#define TEST_VIEWER_LAYOUT_GRAPH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "viewer/layout/layout.h"

/* A graph of `nodes` nodes, each with one output: tensor i is made by node i. Container 0 holds
 * all. */
static view_graph *graph_make(uint32_t nodes, uint32_t containers)
{
    view_graph *g = mem_calloc(1, sizeof *g);
    assert_non_null(g);
    arena *a = &g->memory;
    g->nodes = arena_alloc_array(a, nodes + 1, sizeof *g->nodes);
    g->tensors = arena_alloc_array(a, nodes + 1, sizeof *g->tensors);
    g->containers = arena_alloc_array(a, containers + 1, sizeof *g->containers);
    assert_true(g->nodes && g->tensors && g->containers);
    g->node_count = g->tensor_count = nodes;
    g->container_count = containers;
    for (uint32_t i = 0; i < nodes; i++) {
        g->nodes[i] = (view_node){.name = "", .width = 80, .height = 30, .output_count = 1};
        g->nodes[i].outputs = arena_alloc_array(a, 1, sizeof(uint32_t));
        g->nodes[i].outputs[0] = i;
        g->tensors[i] = (view_tensor){.name = "", .producer = i};
    }
    for (uint32_t c = 0; c < containers; c++)
        g->containers[c] = (view_container){.name = "part",
                                            .kind = c ? VIEW_SCOPE : VIEW_GRAPH,
                                            .parent = VIEW_NONE,
                                            .node = VIEW_NONE,
                                            .state = VIEW_OPEN};
    return g;
}

/* Node `to` reads what node `from` makes. */
static void graph_edge(view_graph *g, uint32_t from, uint32_t to)
{
    view_node *n = &g->nodes[to];
    uint32_t *inputs = arena_alloc_array(&g->memory, n->input_count + 1, sizeof *inputs);
    assert_non_null(inputs);
    if (n->input_count) memcpy(inputs, n->inputs, n->input_count * sizeof *inputs);
    inputs[n->input_count++] = from;
    n->inputs = inputs;
}

static inline void graph_child(view_graph *g, uint32_t container, view_item child)
{
    view_container *c = &g->containers[container];
    view_item *children = arena_alloc_array(&g->memory, c->child_count + 1, sizeof *children);
    assert_non_null(children);
    if (c->child_count) memcpy(children, c->children, c->child_count * sizeof *children);
    children[c->child_count++] = child;
    c->children = children;
    if (child.kind == VIEW_ITEM_NODE)
        g->nodes[child.ref].parent = container;
    else
        g->containers[child.ref].parent = container;
}

/* Puts nodes first to first + count - 1 into the container. */
static void graph_nodes(view_graph *g, uint32_t container, uint32_t first, uint32_t count)
{
    view_container *c = &g->containers[container];
    view_item *children =
        arena_alloc_array(&g->memory, (size_t)c->child_count + count, sizeof *children);
    assert_non_null(children);
    if (c->child_count) memcpy(children, c->children, c->child_count * sizeof *children);
    for (uint32_t i = 0; i < count; i++) {
        children[c->child_count++] = (view_item){VIEW_ITEM_NODE, first + i};
        g->nodes[first + i].parent = container;
    }
    c->children = children;
}

static void graph_run(view_graph *g)
{
    pgy_error err = {0};
    if (view_layout_run(g, NULL, NULL, &err)) fail_msg("%s", err.text);
}

static inline uint32_t item_at(const view_layout *l, view_item_kind kind, uint32_t ref)
{
    for (uint32_t i = 0; i < l->item_count; i++)
        if (l->items[i].kind == kind && l->items[i].ref == ref) return i;
    return VIEW_NONE;
}

/* What each layout must keep: items sorted, apart from each other, inside; edges with a bend in
 * each row that they pass, or only next to their ends. */
static void check_layout(const view_layout *l)
{
    for (uint32_t i = 0; i < l->item_count; i++) {
        assert_true(l->rows[i] < l->row_count);
        assert_true(l->x[i] - l->widths[i] / 2 >= -0.01F);
        assert_true(l->x[i] + l->widths[i] / 2 <= l->width + 0.01F);
        assert_true(l->tops[l->rows[i]] + l->heights[i] <= l->height + 0.01F);
        if (l->rows[i] + 1 < l->row_count)
            assert_true(l->tops[l->rows[i]] + l->heights[i] < l->tops[l->rows[i] + 1]);
        if (i == 0) continue;
        assert_true(l->rows[i - 1] <= l->rows[i]);
        if (l->rows[i - 1] == l->rows[i])
            assert_true(l->x[i - 1] + l->widths[i - 1] / 2 < l->x[i] - l->widths[i] / 2);
    }
    for (uint32_t k = 0; k < l->edge_count; k++) {
        const view_layout_edge *e = &l->edges[k];
        const uint32_t top = l->rows[e->from] < l->rows[e->to] ? e->from : e->to;
        const uint32_t bottom = top == e->from ? e->to : e->from;
        assert_true(l->rows[top] < l->rows[bottom]);
        const uint32_t passed = l->rows[bottom] - l->rows[top] - 1;
        const bool is_cut = e->bend_count == 2 && passed > 2;
        assert_true(is_cut || e->bend_count == passed);
        for (uint32_t i = 0; i < e->bend_count; i++) {
            assert_int_equal(l->items[e->bends[i]].kind, VIEW_ITEM_BEND);
            assert_int_equal(l->items[e->bends[i]].ref, e->tensor);
            assert_int_equal(l->rows[e->bends[i]],
                             is_cut && i ? l->rows[bottom] - 1 : l->rows[top] + 1 + i);
        }
    }
}

static inline bool is_upward(const view_layout *l, uint32_t edge)
{
    return l->rows[l->edges[edge].from] > l->rows[l->edges[edge].to];
}

#endif

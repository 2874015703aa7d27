/* SPDX-License-Identifier: Apache-2.0 */
/* Instances of a repeat share a layout, and a repeat can show one instance alone. */
#include "layout_graph.h"

enum { INSTANCES = 3, PER_INSTANCE = 5, CONTAINERS = 2 + 2 * INSTANCES };

/* Node 0; a repeat (container 1) whose instances (2, 4, 6) each hold two nodes, a scope (3, 5, 7)
 * with two, and one that adds what it is handed; the last node reads the last instance. `tensors`
 * are numbered backwards in every second instance. */
static view_graph *repeated(void)
{
    const uint32_t last = 1 + INSTANCES * PER_INSTANCE;
    view_graph *g = graph_make(last + 1, CONTAINERS);
    graph_nodes(g, 0, 0, 1);
    graph_child(g, 0, (view_item){VIEW_ITEM_CONTAINER, 1});
    graph_nodes(g, 0, last, 1);
    g->containers[1].kind = VIEW_REPEAT;
    for (uint32_t i = 0; i < INSTANCES; i++) {
        const uint32_t n = 1 + i * PER_INSTANCE, c = 2 + 2 * i;
        const uint32_t before = i ? n - 1 : 0;
        g->containers[c].kind = VIEW_INSTANCE;
        graph_child(g, 1, (view_item){VIEW_ITEM_CONTAINER, c});
        graph_nodes(g, c, n, 2);
        graph_child(g, c, (view_item){VIEW_ITEM_CONTAINER, c + 1});
        graph_nodes(g, c + 1, n + 2, 2);
        graph_nodes(g, c, n + 4, 1);
        graph_edge(g, before, n);
        graph_edge(g, before, n + 1);
        graph_edge(g, n, n + 2);
        graph_edge(g, n + 1, n + 3);
        graph_edge(g, n + 2, n + 3);
        graph_edge(g, n + 3, n + 4);
        graph_edge(g, before, n + 4);
    }
    graph_edge(g, last - 1, last);
    return g;
}

static void test_layout_share__instances_have_the_layout_of_the_first(void **state)
{
    (void)state;
    view_graph *g = repeated();
    graph_run(g);
    const view_layout *first = g->containers[2].layout;
    assert_true(first->like == VIEW_NONE && g->containers[3].layout->like == VIEW_NONE);
    for (uint32_t c = 0; c < CONTAINERS; c++) check_layout(g->containers[c].layout);
    for (uint32_t i = 1; i < INSTANCES; i++) {
        const view_layout *l = g->containers[2 + 2 * i].layout;
        assert_int_equal(l->like, 2);
        assert_int_equal(g->containers[3 + 2 * i].layout->like, 3);
        assert_int_equal(l->item_count, first->item_count);
        for (uint32_t k = 0; k < l->item_count; k++) {
            assert_int_equal(l->items[k].kind, first->items[k].kind);
            assert_true(l->x[k] == first->x[k]);
            if (l->items[k].kind == VIEW_ITEM_NODE)
                assert_int_equal(l->items[k].ref, first->items[k].ref + i * PER_INSTANCE);
            if (l->items[k].kind == VIEW_ITEM_CONTAINER)
                assert_int_equal(l->items[k].ref, first->items[k].ref + i * 2);
        }
        for (uint32_t k = 0; k < l->edge_count; k++)
            assert_int_equal(l->tensors[k], l->edges[k].tensor);
    }
    view_graph_destroy(g);
}

/* Each edge of a layout must join what makes its tensor and what reads it. */
static void test_layout_share__edges_of_instances_join_the_right_nodes(void **state)
{
    (void)state;
    view_graph *g = repeated();
    graph_run(g);
    for (uint32_t c = 2; c < CONTAINERS; c++) {
        const view_layout *l = g->containers[c].layout;
        for (uint32_t k = 0; k < l->edge_count; k++) {
            const view_layout_edge *e = &l->edges[k];
            const view_item *from = &l->items[e->from], *to = &l->items[e->to];
            if (from->kind == VIEW_ITEM_NODE) assert_int_equal(from->ref, e->tensor);
            if (from->kind == VIEW_ITEM_IN) assert_int_equal(from->ref, e->tensor);
            if (to->kind == VIEW_ITEM_OUT) assert_int_equal(to->ref, e->tensor);
            if (to->kind != VIEW_ITEM_NODE) continue;
            const view_node *n = &g->nodes[to->ref];
            bool reads = false;
            for (uint32_t i = 0; i < n->input_count; i++) reads |= n->inputs[i] == e->tensor;
            assert_true(reads);
        }
    }
    view_graph_destroy(g);
}

static void test_layout_share__an_instance_that_differs_has_its_own(void **state)
{
    (void)state;
    view_graph *g = repeated();
    graph_edge(g, 1 + PER_INSTANCE, 3 + PER_INSTANCE); /* twice the same tensor: no change */
    graph_edge(g, 1 + 2 * PER_INSTANCE, 5 + 2 * PER_INSTANCE);
    graph_run(g);
    assert_int_equal(g->containers[4].layout->like, 2);
    assert_int_equal(g->containers[6].layout->like, VIEW_NONE);
    assert_int_equal(g->containers[7].layout->like, 3);
    for (uint32_t c = 0; c < CONTAINERS; c++) check_layout(g->containers[c].layout);
    view_graph_destroy(g);
}

static void test_layout_share__repeat_shows_one_instance_in_its_frame(void **state)
{
    (void)state;
    view_graph *g = repeated();
    view_scene s;
    pgy_error err = {0};
    g->containers[1].state = VIEW_ONE;
    graph_run(g);
    assert_int_equal(view_scene_make(&s, g, 0, &err), PGY_OK);
    const view_place *frame = NULL;
    const view_layout *l = g->containers[2].layout;
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < s.place_count; i++) {
        const view_place *p = &s.places[i];
        if (p->item.kind == VIEW_ITEM_CONTAINER) {
            assert_true(p->item.ref == 1 || p->item.ref == 3); /* the repeat, a scope in it */
            if (p->item.ref == 1) frame = p;
            continue;
        }
        assert_true(p->item.ref <= PER_INSTANCE || p->item.ref == 1 + INSTANCES * PER_INSTANCE);
        if (p->item.ref == 0 || p->item.ref > PER_INSTANCE) continue;
        nodes++;
        assert_true(p->x >= frame->x + VIEW_FRAME);
        assert_true(p->y >= frame->y + VIEW_FRAME + VIEW_HEADER);
    }
    assert_non_null(frame);
    assert_int_equal(nodes, PER_INSTANCE);
    assert_true(frame->width == l->width + 2 * VIEW_FRAME);
    assert_true(frame->height == l->height + 2 * VIEW_FRAME + VIEW_HEADER);
    view_scene_deinit(&s);
    view_graph_destroy(g);
}

/* What the last instance makes leaves the repeat where the shown one has that port. */
static void test_layout_share__lines_meet_the_ports_of_the_shown_instance(void **state)
{
    (void)state;
    view_graph *g = repeated();
    view_scene s;
    pgy_error err = {0};
    const uint32_t last = INSTANCES * PER_INSTANCE;
    g->containers[1].state = VIEW_ONE;
    g->nodes[2].width = 300; /* so that the port is not in the middle */
    graph_run(g);
    assert_int_equal(view_scene_make(&s, g, 0, &err), PGY_OK);
    const view_layout *l = g->containers[2].layout;
    const uint32_t port = item_at(l, VIEW_ITEM_OUT, PER_INSTANCE);
    const view_place *frame = NULL;
    for (uint32_t i = 0; i < s.place_count; i++)
        if (s.places[i].item.kind == VIEW_ITEM_CONTAINER && s.places[i].item.ref == 1)
            frame = &s.places[i];
    assert_true(frame && port != VIEW_NONE);
    bool found = false;
    for (uint32_t i = 0; i < s.line_count; i++) {
        if (s.lines[i].tensor != last) continue;
        found = true;
        assert_true(s.lines[i].points[0] == frame->x + VIEW_FRAME + l->x[port]);
    }
    assert_true(found);
    view_scene_deinit(&s);
    view_graph_destroy(g);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of small graphs: rows, ports, cycles, arranging, and places in the picture. */
#include "layout_graph.h"

static void test_layout__node_lies_right_under_its_only_producer(void **state)
{
    (void)state;
    view_graph *g = graph_make(3, 1);
    graph_nodes(g, 0, 0, 3);
    graph_edge(g, 0, 1);
    graph_edge(g, 1, 2);
    graph_run(g);
    const view_layout *l = g->containers[0].layout;
    check_layout(l);
    assert_int_equal(l->row_count, 3);
    assert_int_equal(l->edge_count, 2);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(l->items[i].ref, i);
        assert_true(l->x[i] == l->x[0]);
    }
    assert_true(l->width == 80 && l->tops[1] == 50);
    view_graph_destroy(g);
}

static void test_layout__sides_of_a_diamond_lie_beside_each_other(void **state)
{
    (void)state;
    view_graph *g = graph_make(4, 1);
    graph_nodes(g, 0, 0, 4);
    graph_edge(g, 0, 1);
    graph_edge(g, 0, 2);
    graph_edge(g, 1, 3);
    graph_edge(g, 2, 3);
    graph_run(g);
    const view_layout *l = g->containers[0].layout;
    check_layout(l);
    assert_int_equal(l->row_count, 3);
    assert_int_equal(l->item_count, 4);
    assert_int_equal(l->rows[1], 1);
    assert_int_equal(l->rows[2], 1);
    view_graph_destroy(g);
}

static void test_layout__skip_connection_passes_rows_through_bends(void **state)
{
    (void)state;
    view_graph *g = graph_make(4, 1);
    graph_nodes(g, 0, 0, 4);
    graph_edge(g, 0, 1);
    graph_edge(g, 1, 2);
    graph_edge(g, 2, 3);
    graph_edge(g, 0, 3);
    graph_run(g);
    const view_layout *l = g->containers[0].layout;
    check_layout(l);
    assert_int_equal(l->item_count, 6);
    uint32_t bends = 0;
    for (uint32_t i = 0; i < l->edge_count; i++) bends += l->edges[i].bend_count;
    assert_int_equal(bends, 2);
    view_graph_destroy(g);
}

static void test_layout__cycle_has_one_edge_upwards(void **state)
{
    (void)state;
    view_graph *g = graph_make(3, 1);
    graph_nodes(g, 0, 0, 3);
    graph_edge(g, 0, 1);
    graph_edge(g, 1, 2);
    graph_edge(g, 2, 0);
    graph_edge(g, 1, 1);
    graph_run(g);
    const view_layout *l = g->containers[0].layout;
    check_layout(l);
    assert_int_equal(l->edge_count, 3); /* without the one from 1 to itself */
    uint32_t upward = 0;
    for (uint32_t i = 0; i < l->edge_count; i++) upward += is_upward(l, i);
    assert_int_equal(upward, 1);
    view_graph_destroy(g);
}

/* Node 0, then a scope with 1 and 2, then 3; 3 reads 0 and 2. */
static view_graph *scoped(void)
{
    view_graph *g = graph_make(4, 2);
    graph_nodes(g, 0, 0, 1);
    graph_child(g, 0, (view_item){VIEW_ITEM_CONTAINER, 1});
    graph_nodes(g, 0, 3, 1);
    graph_nodes(g, 1, 1, 2);
    graph_edge(g, 0, 1);
    graph_edge(g, 0, 2);
    graph_edge(g, 1, 2);
    graph_edge(g, 2, 3);
    graph_edge(g, 0, 3);
    return g;
}

static void test_layout__tensors_that_cross_a_border_have_one_port(void **state)
{
    (void)state;
    view_graph *g = scoped();
    graph_run(g);
    const view_layout *l = g->containers[1].layout, *outer = g->containers[0].layout;
    check_layout(l);
    check_layout(outer);
    assert_int_equal(l->items[0].kind, VIEW_ITEM_IN);
    assert_int_equal(l->items[0].ref, 0);
    assert_int_equal(l->items[l->item_count - 1].kind, VIEW_ITEM_OUT);
    assert_int_equal(l->items[l->item_count - 1].ref, 2);
    assert_int_equal(l->edge_count, 4); /* 0 to 1, 0 to 2, 1 to 2, 2 out */
    assert_int_equal(outer->edge_count, 3);
    view_graph_destroy(g);
}

static const view_place *place_of(const view_scene *s, view_item_kind kind, uint32_t ref)
{
    for (uint32_t i = 0; i < s->place_count; i++)
        if (s->places[i].item.kind == kind && s->places[i].item.ref == ref) return &s->places[i];
    return NULL;
}

static void assert_inside(const view_place *p, const view_place *frame)
{
    assert_true(p->x >= frame->x + VIEW_FRAME && p->y >= frame->y + VIEW_FRAME + VIEW_HEADER);
    assert_true(p->x + p->width <= frame->x + frame->width - VIEW_FRAME);
    assert_true(p->y + p->height <= frame->y + frame->height - VIEW_FRAME);
}

static void test_layout__open_container_frames_its_nodes_in_the_picture(void **state)
{
    (void)state;
    view_graph *g = scoped();
    view_scene s;
    pgy_error err = {0};
    graph_run(g);
    assert_int_equal(view_scene_make(&s, g, 0, &err), PGY_OK);
    const view_place *frame = place_of(&s, VIEW_ITEM_CONTAINER, 1);
    assert_non_null(frame);
    assert_inside(place_of(&s, VIEW_ITEM_NODE, 1), frame);
    assert_inside(place_of(&s, VIEW_ITEM_NODE, 2), frame);
    assert_int_equal(s.place_count, 5);
    assert_int_equal(s.line_count, 7);
    const view_place *above = place_of(&s, VIEW_ITEM_NODE, 0);
    assert_true(above->y + above->height < frame->y);
    view_scene_deinit(&s);
    view_graph_destroy(g);
}

static void test_layout__folding_frees_the_room_and_unfolding_takes_it_again(void **state)
{
    (void)state;
    view_graph *g = scoped();
    pgy_error err = {0};
    graph_run(g);
    const view_layout *l = g->containers[0].layout;
    const float height = l->height, width = l->width;
    g->containers[1].state = VIEW_FOLDED;
    assert_int_equal(view_layout_arrange(g, &err), PGY_OK);
    check_layout(l);
    assert_true(l->height < height - 50);
    const uint32_t part = item_at(l, VIEW_ITEM_CONTAINER, 1);
    assert_true(l->heights[part] == VIEW_CARD_HEIGHT);
    g->containers[1].state = VIEW_OPEN;
    assert_int_equal(view_layout_arrange(g, &err), PGY_OK);
    check_layout(l);
    assert_true(l->height == height && l->width == width);
    view_graph_destroy(g);
}

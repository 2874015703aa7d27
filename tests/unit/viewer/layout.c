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

static float bottom(const view_place *p)
{
    return p->y + p->height;
}

/* Each line starts at the bottom of what makes its tensor and ends at the top of what reads it; at
 * the border of an open container another line goes on from the same point. */
static void test_layout__lines_end_at_the_borders_of_their_nodes(void **state)
{
    (void)state;
    view_graph *g = scoped();
    view_scene s;
    pgy_error err = {0};
    graph_run(g);
    assert_int_equal(view_scene_make(&s, g, 0, &err), PGY_OK);
    const view_place *frame = place_of(&s, VIEW_ITEM_CONTAINER, 1);
    uint32_t arrows = 0;
    for (uint32_t i = 0; i < s.line_count; i++) {
        const view_line *line = &s.lines[i];
        const view_place *maker = place_of(&s, VIEW_ITEM_NODE, line->tensor);
        const float *first = line->points, *last = first + 2 * (line->count - 1);
        assert_true(line->count >= 2 && !line->is_tunnel);
        assert_true(first[1] == bottom(maker) || first[1] == frame->y || first[1] == bottom(frame));
        if (first[1] == bottom(maker)) assert_true(first[0] == maker->x + maker->width / 2);
        for (uint32_t k = 1; k < line->count; k++)
            assert_true(line->points[2 * k + 1] > line->points[2 * k - 1]);
        if (line->ends_there) {
            bool at_reader = false;
            for (uint32_t n = 1; n < 4; n++) {
                const view_place *reader = place_of(&s, VIEW_ITEM_NODE, n);
                at_reader |= last[1] == reader->y && last[0] == reader->x + reader->width / 2;
            }
            assert_true(at_reader);
            arrows++;
            continue;
        }
        bool goes_on = false;
        for (uint32_t k = 0; k < s.line_count; k++)
            goes_on |= s.lines[k].tensor == line->tensor && s.lines[k].points[0] == last[0] &&
                       s.lines[k].points[1] == last[1];
        assert_true(goes_on);
    }
    assert_int_equal(arrows, 5);
    view_scene_deinit(&s);
    view_graph_destroy(g);
}

/* What grows pushes what lies right of it, in its row and below it alike, and nothing else. */
static void test_layout__a_card_that_grows_pushes_its_neighbour(void **state)
{
    (void)state;
    view_graph *g = graph_make(6, 1);
    pgy_error err = {0};
    graph_nodes(g, 0, 0, 6);
    for (uint32_t i = 0; i < 4; i++) graph_edge(g, i, i + 2); /* two columns */
    graph_run(g);
    const view_layout *l = g->containers[0].layout;
    uint32_t items[6];
    for (uint32_t i = 0; i < 6; i++) items[i] = item_at(l, VIEW_ITEM_NODE, i);
    const uint32_t left = l->x[items[0]] < l->x[items[1]] ? 0 : 1, right = 1 - left;
    g->nodes[2 + left].width = 280;
    g->nodes[2 + left].height = 90;
    assert_int_equal(view_layout_arrange(g, &err), PGY_OK);
    check_layout(l);
    for (uint32_t k = 0; k < 6; k += 2) {
        assert_true(l->x[items[k + left]] == 140);
        assert_true(l->x[items[k + right]] == 140 + 140 + 20 + 40);
    }
    assert_true(l->width == 380 && l->height == 30 + 20 + 90 + 20 + 30);
    view_graph_destroy(g);
}

/* A call (container 1) of node 1 with a body (2) in which node 2 reads what node 0 makes. */
static void test_layout__what_a_body_reads_from_outside_comes_through_a_tunnel(void **state)
{
    (void)state;
    view_graph *g = graph_make(4, 3);
    view_scene s;
    pgy_error err = {0};
    graph_nodes(g, 0, 0, 1);
    graph_nodes(g, 0, 3, 1);
    graph_child(g, 0, (view_item){VIEW_ITEM_CONTAINER, 1});
    graph_nodes(g, 1, 1, 1);
    graph_child(g, 1, (view_item){VIEW_ITEM_CONTAINER, 2});
    graph_nodes(g, 2, 2, 1);
    g->containers[1].kind = VIEW_CALL;
    g->containers[1].node = 1;
    g->containers[2].kind = VIEW_BODY;
    graph_edge(g, 3, 1); /* the call's own input */
    graph_edge(g, 0, 2);
    graph_run(g);
    assert_int_equal(g->containers[1].layout->card_width, 80); /* that of its node */
    assert_int_equal(view_scene_make(&s, g, 0, &err), PGY_OK);
    assert_null(place_of(&s, VIEW_ITEM_NODE, 1));
    uint32_t tunnels = 0;
    for (uint32_t i = 0; i < s.line_count; i++) {
        assert_int_equal(s.lines[i].is_tunnel, s.lines[i].tensor == 0);
        tunnels += s.lines[i].is_tunnel;
    }
    assert_int_equal(tunnels, 3); /* to the call, to the body, to the node */
    view_scene_deinit(&s);
    view_graph_destroy(g);
}

/* A scope makes two tensors; those who read them stand in the order of its ports, whatever their
 * own order in the model. */
static void test_layout__readers_stand_in_the_order_of_the_ports(void **state)
{
    (void)state;
    view_graph *g = graph_make(6, 2);
    graph_child(g, 0, (view_item){VIEW_ITEM_CONTAINER, 1});
    graph_nodes(g, 1, 0, 3);
    graph_nodes(g, 0, 3, 3);
    graph_edge(g, 1, 3);
    graph_edge(g, 2, 4);
    graph_edge(g, 0, 5);
    graph_run(g);
    const view_layout *l = g->containers[0].layout, *inner = g->containers[1].layout;
    check_layout(l);
    float ports[3], readers[3];
    for (uint32_t i = 0; i < 3; i++) {
        ports[i] = inner->x[item_at(inner, VIEW_ITEM_OUT, i)];
        readers[i] = l->x[item_at(l, VIEW_ITEM_NODE, (const uint32_t[]){5, 3, 4}[i])];
    }
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(ports[i] < ports[k], readers[i] < readers[k]);
    view_graph_destroy(g);
}

static void test_layout__json_holds_the_folded_picture(void **state)
{
    (void)state;
    view_graph *g = scoped();
    pgy_error err = {0};
    json_writer *w;
    str text = {0};
    graph_run(g);
    assert_int_equal(json_writer_create_str(&w, &text, &err), PGY_OK);
    view_layout_write(w, g, 0);
    assert_int_equal(json_writer_finish(w, &err), PGY_OK);
    json_writer_destroy(w);
    arena a = {0};
    json_value *v;
    assert_int_equal(json_parse(&v, text.data, text.size, &a, &err), PGY_OK);
    const view_layout *l = g->containers[0].layout;
    const uint32_t part = item_at(l, VIEW_ITEM_CONTAINER, 1);
    assert_true(l->heights[part] > VIEW_CARD_HEIGHT); /* it is shown open */
    assert_int_equal(json_at(json_get(v, "ih"), part)->integer, VIEW_CARD_HEIGHT);
    assert_int_equal(json_at(json_get(v, "kind"), part)->integer, VIEW_ITEM_CONTAINER);
    assert_null(json_at(json_get(v, "x"), l->item_count));
    assert_non_null(json_at(json_get(v, "x"), l->item_count - 1));
    assert_null(json_at(json_get(v, "edges"), l->edge_count));
    assert_non_null(json_at(json_get(v, "y"), l->row_count - 1));
    arena_deinit(&a);
    str_deinit(&text);
    view_graph_destroy(g);
}

static void test_layout__missing_memory_is_an_error(void **state)
{
    (void)state;
    for (uint64_t n = 1;; n++) {
        pgy_error err = {0};
        view_scene s = {0};
        view_graph *g = scoped();
        if (!mem_fail_nth(n)) {
            view_graph_destroy(g);
            break; /* a build without assertions */
        }
        pgy_status st = view_layout_run(g, NULL, NULL, &err);
        if (!st) st = view_scene_make(&s, g, 0, &err);
        mem_fail_nth(0);
        view_scene_deinit(&s);
        view_graph_destroy(g);
        if (!st) break;
        assert_int_equal(st, PGY_E_MEMORY);
    }
}

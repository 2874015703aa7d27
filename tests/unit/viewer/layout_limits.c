/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of large and strange graphs: bounded in what they make, never overlapping, the same each
 * time. */
#include "layout_graph.h"

#include "base/cancel.h"

/* What random tests draw from: the same numbers in every run. */
static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)(*seed >> 8) * below) >> 24);
}

static view_graph *flat(uint32_t nodes)
{
    view_graph *g = graph_make(nodes, 1);
    graph_nodes(g, 0, 0, nodes);
    return g;
}

static view_graph *chain(uint32_t nodes)
{
    view_graph *g = flat(nodes);
    for (uint32_t i = 1; i < nodes; i++) graph_edge(g, i - 1, i);
    return g;
}

static void test_layout_limits__chain_of_50000_is_one_straight_column(void **state)
{
    (void)state;
    view_graph *g = chain(50000);
    graph_run(g);
    const view_layout *l = g->containers[0].layout;
    check_layout(l);
    assert_int_equal(l->row_count, 50000);
    assert_int_equal(l->item_count, 50000);
    assert_true(l->width == 80);
    view_graph_destroy(g);
}

static void test_layout_limits__long_edges_do_not_make_bends_without_end(void **state)
{
    (void)state;
    enum { NODES = 20000 };
    view_graph *g = chain(NODES);
    for (uint32_t i = 0; i < NODES / 2; i += 4) graph_edge(g, i, NODES - 1 - i);
    graph_run(g); /* with a bend in each row these would be 25 million */
    const view_layout *l = g->containers[0].layout;
    check_layout(l);
    assert_true(l->item_count < 7 * NODES);
    view_graph_destroy(g);
}

static void test_layout_limits__short_skips_keep_all_their_bends(void **state)
{
    (void)state;
    enum { NODES = 5000 };
    view_graph *g = chain(NODES);
    for (uint32_t i = 0; i + 6 < NODES; i += 8) graph_edge(g, i, i + 6);
    graph_run(g);
    const view_layout *l = g->containers[0].layout;
    check_layout(l);
    assert_int_equal(l->item_count, NODES + 625 * 5);
    for (uint32_t i = 0; i < l->edge_count; i++) {
        const view_layout_edge *e = &l->edges[i];
        assert_int_equal(e->bend_count, l->rows[e->to] - l->rows[e->from] - 1);
        for (uint32_t k = 1; k < e->bend_count; k++) /* long edges are straight */
            assert_true(l->x[e->bends[k]] == l->x[e->bends[0]]);
    }
    view_graph_destroy(g);
}

static void test_layout_limits__readers_of_one_tensor_share_their_bends(void **state)
{
    (void)state;
    enum { NODES = 400 };
    view_graph *g = chain(NODES);
    for (uint32_t i = 2; i < NODES; i++) graph_edge(g, 0, i); /* a mask that all layers read */
    graph_run(g);
    const view_layout *l = g->containers[0].layout;
    check_layout(l);
    assert_int_equal(l->item_count, NODES + NODES - 2);
    view_graph_destroy(g);
}

static void test_layout_limits__star_and_parallel_nodes(void **state)
{
    (void)state;
    const uint32_t sizes[] = {500, 10000};
    for (int k = 0; k < 2; k++) {
        view_graph *g = flat(sizes[k] + 2);
        for (uint32_t i = 1; i <= sizes[k]; i++) {
            graph_edge(g, 0, i);
            if (k) graph_edge(g, i, sizes[k] + 1);
        }
        graph_run(g);
        const view_layout *l = g->containers[0].layout;
        check_layout(l);
        assert_int_equal(l->row_count, 2 + k);
        assert_int_equal(l->item_count, sizes[k] + 2);
        view_graph_destroy(g);
    }
}

static view_graph *random_graph(uint32_t nodes, uint32_t edges, bool cycles)
{
    view_graph *g = flat(nodes);
    uint32_t seed = 7;
    for (uint32_t i = 0; i < edges; i++) {
        const uint32_t a = draw(&seed, nodes), b = draw(&seed, nodes);
        graph_edge(g, a < b || cycles ? a : b, a < b || cycles ? b : a);
    }
    for (uint32_t i = 0; i < nodes; i++) {
        g->nodes[i].width = (float)(20 + draw(&seed, 200));
        g->nodes[i].height = (float)(10 + draw(&seed, 90));
    }
    return g;
}

static void test_layout_limits__random_graphs_never_overlap(void **state)
{
    (void)state;
    const uint32_t sizes[][2] = {{60, 90}, {500, 800}, {5000, 8000}};
    for (int k = 0; k < 6; k++) {
        view_graph *g = random_graph(sizes[k / 2][0], sizes[k / 2][1], k % 2);
        graph_run(g);
        check_layout(g->containers[0].layout);
        for (uint32_t i = 0; k % 2 == 0 && i < g->containers[0].layout->edge_count; i++)
            assert_false(is_upward(g->containers[0].layout, i));
        view_graph_destroy(g);
    }
}

static void test_layout_limits__second_run_gives_the_same(void **state)
{
    (void)state;
    view_graph *a = random_graph(300, 500, true);
    graph_run(a);
    void *hole = mem_alloc(100000); /* so that memory lies elsewhere */
    view_graph *b = random_graph(300, 500, true);
    graph_run(b);
    const view_layout *l = a->containers[0].layout, *m = b->containers[0].layout;
    assert_int_equal(l->item_count, m->item_count);
    for (uint32_t i = 0; i < l->item_count; i++) {
        assert_int_equal(l->items[i].kind, m->items[i].kind);
        assert_int_equal(l->items[i].ref, m->items[i].ref);
        assert_true(l->x[i] == m->x[i]);
    }
    mem_free(hole);
    view_graph_destroy(a);
    view_graph_destroy(b);
}

/* 200 containers in each other, with a node beside each; the innermost reads from outside. */
static void test_layout_limits__deep_nesting(void **state)
{
    (void)state;
    enum { DEPTH = 200 };
    view_graph *g = graph_make(DEPTH, DEPTH);
    view_scene s;
    pgy_error err = {0};
    for (uint32_t c = 0; c < DEPTH; c++) {
        graph_nodes(g, c, c, 1);
        if (c > 0) graph_child(g, c - 1, (view_item){VIEW_ITEM_CONTAINER, c});
        if (c > 0) graph_edge(g, c - 1, c);
    }
    graph_edge(g, 0, DEPTH - 1);
    graph_run(g);
    for (uint32_t c = 0; c < DEPTH; c++) check_layout(g->containers[c].layout);
    assert_int_equal(view_scene_make(&s, g, 0, &err), PGY_OK);
    assert_int_equal(s.place_count, 2 * DEPTH - 1);
    const view_place *last = &s.places[s.place_count - 1];
    assert_true(last->x >= (DEPTH - 1) * VIEW_FRAME && last->y + last->height < s.height);
    view_scene_deinit(&s);
    view_graph_destroy(g);
}

static void test_layout_limits__parts_without_connection_begin_at_the_top(void **state)
{
    (void)state;
    view_graph *g = flat(9);
    for (uint32_t i = 1; i < 5; i++) graph_edge(g, i - 1, i);
    graph_edge(g, 5, 6);
    graph_edge(g, 6, 7);
    graph_run(g);
    const view_layout *l = g->containers[0].layout;
    check_layout(l);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(l->rows[item_at(l, VIEW_ITEM_NODE, (const uint32_t[]){0, 5, 8, 6}[i])],
                         i == 3);
    view_graph_destroy(g);
}

static void test_layout_limits__nodes_without_edges_fill_several_rows(void **state)
{
    (void)state;
    view_graph *g = flat(402);
    graph_edge(g, 0, 1);
    graph_run(g);
    const view_layout *l = g->containers[0].layout;
    check_layout(l);
    assert_int_equal(l->row_count, 20);
    assert_true(l->width == 21 * 80 + 20 * 20); /* 20 and the pair */
    view_graph_destroy(g);
}

static void test_layout_limits__empty_container(void **state)
{
    (void)state;
    view_graph *g = graph_make(0, 2);
    view_scene s;
    pgy_error err = {0};
    graph_child(g, 0, (view_item){VIEW_ITEM_CONTAINER, 1});
    graph_run(g);
    assert_int_equal(g->containers[1].layout->item_count, 0);
    assert_int_equal(view_scene_make(&s, g, 0, &err), PGY_OK);
    assert_int_equal(s.place_count, 1);
    assert_true(s.places[0].width == 2 * VIEW_FRAME);
    view_scene_deinit(&s);
    view_graph_destroy(g);
}

static void test_layout_limits__request_to_stop_is_heard(void **state)
{
    (void)state;
    view_graph *g = random_graph(500, 800, false);
    pgy_error err = {0};
    pgy_cancel();
    assert_int_equal(view_layout_run(g, NULL, NULL, &err), PGY_E_CANCELLED);
    pgy_cancel_reset();
    graph_run(g);
    pgy_cancel();
    assert_int_equal(view_layout_arrange(g, &err), PGY_E_CANCELLED);
    pgy_cancel_reset();
    view_graph_destroy(g);
}

/* A work limit, not the clock, bounds what is done, unless the caller gives almost no time. */
static void test_layout_limits__report_says_when_time_was_short(void **state)
{
    (void)state;
    view_graph *g = random_graph(2000, 4000, false);
    view_layout_report report = {0};
    pgy_error err = {0};
    assert_int_equal(view_layout_run(g, NULL, &report, &err), PGY_OK);
    assert_true(report.seconds > 0);
    assert_int_equal(view_layout_run(g, &(view_layout_options){.seconds = 1e-9}, &report, &err),
                     PGY_OK);
    assert_true(report.simplified);
    check_layout(g->containers[0].layout);
    view_graph_destroy(g);
}

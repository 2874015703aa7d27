/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "viewer/results.h"

static const char *const STATES[] = {"normal", "nan"};

/* Writes one block and reads it again. */
typedef struct block {
    char *text;
    arena memory;
    json_value *root;
} block;

typedef struct asked {
    const view_results *results;
    const view_table *table;
    char what;
    size_t k;
} asked;

static pgy_status write_block(json_writer *w, const void *user, pgy_error *err)
{
    (void)err;
    const asked *a = user;
    switch (a->what) {
    case 'r': view_results_write(w, a->results); break;
    case 's': view_stats_write(w, a->results, a->k); break;
    case 't': view_timeline_write(w, a->results); break;
    case 'f': view_search_write(w, a->results); break;
    default: view_table_write(w, a->table);
    }
    return PGY_OK;
}

static block read_block(const asked *what)
{
    block b = {0};
    assert_int_equal(json_to_text(&b.text, write_block, what, NULL), PGY_OK);
    assert_int_equal(json_parse(&b.root, b.text, strlen(b.text), &b.memory, NULL), PGY_OK);
    return b;
}

static void close_block(block *b)
{
    arena_deinit(&b->memory);
    mem_free(b->text);
}

static const char *text_of(block *b, const json_value *v)
{
    assert_non_null(v);
    assert_int_equal(v->type, JSON_STRING);
    return json_string(v, &b->memory, NULL);
}

static view_quantity *add_quantity(view_results *r, const view_graph *g, const char *id, view_of of,
                                   view_scale scale)
{
    view_quantity *q = NULL;
    const view_quantity like = {.id = id,
                                .label = "label",
                                .group = "accuracy",
                                .of = of,
                                .scale = scale,
                                .better = VIEW_BETTER_LOW,
                                .names = scale == VIEW_CATEGORY ? STATES : NULL,
                                .name_count = scale == VIEW_CATEGORY ? 2 : 0};
    assert_int_equal(view_quantity_add(&q, r, g, &like, NULL), PGY_OK);
    return q;
}

static void test_results__quantity_distinguishes_zero_nan_and_not_measured(void **state)
{
    (void)state;
    const view_graph g = {.node_count = 2, .tensor_count = 4};
    view_results r = {0};
    view_quantity *q = add_quantity(&r, &g, "maxabs", VIEW_OF_TENSOR, VIEW_LOG);
    assert_int_equal(q->count, 4);
    view_quantity_set(q, 0, 0.0);
    view_quantity_set(q, 1, NAN);
    view_quantity_set(q, 3, -INFINITY);
    view_quantity_set(q, 4, 1);         /* not in the graph */
    view_quantity_set(q, VIEW_NONE, 1); /* a name that the graph lacks */
    view_quantity_set(add_quantity(&r, &g, "state", VIEW_OF_TENSOR, VIEW_CATEGORY), 2, 1);
    assert_int_equal(add_quantity(&r, &g, "time", VIEW_OF_NODE, VIEW_LOG)->count, 2);
    assert_int_equal(r.quantity_count, 3);
    /* The same again: the one that is there, with its values. */
    assert_true(add_quantity(&r, &g, "maxabs", VIEW_OF_TENSOR, VIEW_LOG)->is_measured[1]);
    assert_int_equal(r.quantity_count, 3);
    assert_null(view_quantity_find(&r, "maxabs", 1));
    assert_string_equal(view_quantity_find(&r, "time", 0)->id, "time");

    block b = read_block(&(asked){.results = &r, .what = 'r'});
    const json_value *first = json_at(json_get(b.root, "quantities"), 0);
    const json_value *values = json_get(first, "values");
    assert_int_equal(values->count, 4);
    assert_int_equal(json_at(values, 0)->type, JSON_REAL);
    assert_string_equal(text_of(&b, json_at(values, 1)), "nan");
    assert_int_equal(json_at(values, 2)->type, JSON_NULL);
    assert_string_equal(text_of(&b, json_at(values, 3)), "-inf");
    assert_string_equal(text_of(&b, json_get(first, "of")), "tensor");
    assert_string_equal(text_of(&b, json_get(first, "scale")), "log");
    assert_string_equal(text_of(&b, json_get(first, "better")), "low");
    assert_null(json_get(first, "names"));
    const json_value *second = json_at(json_get(b.root, "quantities"), 1);
    assert_string_equal(text_of(&b, json_at(json_get(second, "names"), 1)), "nan");
    assert_int_equal(json_at(json_get(second, "values"), 2)->type, JSON_INT);
    assert_int_equal(json_get(b.root, "pairs")->type, JSON_NULL);
    close_block(&b);
    view_results_deinit(&r);
}

static void test_results__marks_and_pairs(void **state)
{
    (void)state;
    view_results r = {0};
    char text[] = "</script>\xff";
    const view_mark mark = {
        .graph = 1, .at = 7, .of = VIEW_OF_TENSOR, .kind = VIEW_MARK_UNSUPPORTED, .text = text};
    assert_int_equal(view_mark_add(&r, &mark, NULL), PGY_OK);
    text[0] = 'x'; /* it was copied */
    uint32_t a[] = {0, VIEW_NONE}, b_side[] = {1, 0}, merged[] = {0, 1};
    r.pairs[0] = a, r.pairs[1] = b_side, r.pairs[2] = merged;
    r.pair_count = 2;
    block b = read_block(&(asked){.results = &r, .what = 'r'});
    const json_value *m = json_at(json_get(b.root, "marks"), 0);
    assert_string_equal(text_of(&b, json_get(m, "kind")), "unsupported");
    assert_string_equal(text_of(&b, json_get(m, "text")), "</script>\\xff");
    assert_string_equal(text_of(&b, json_get(m, "of")), "tensor");
    assert_int_equal(json_get(m, "at")->integer, 7);
    assert_int_equal(json_at(json_get(json_get(b.root, "pairs"), "a"), 1)->integer, -1);
    assert_int_equal(json_at(json_get(json_get(b.root, "pairs"), "b"), 0)->integer, 1);
    close_block(&b);
    view_results_deinit(&r);
}

static void test_results__statistics_come_in_pieces_by_tensor(void **state)
{
    (void)state;
    view_results r = {0};
    view_stats *s = NULL;
    const uint32_t tensors[] = {600, 3, 258, 3};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(view_stats_add(&s, &r, tensors[i], NULL), PGY_OK);
        assert_int_equal(s->tensor, tensors[i]);
        s->side[0] = (view_side_stats){.runner = "cpu",
                                       .dtype = "float32",
                                       .shape = "2",
                                       .count = 2,
                                       .nan = 1,
                                       .max = INFINITY};
    }
    assert_int_equal(r.stats_count, 3);
    assert_ptr_equal(view_stats_find(&r, 3), s);
    assert_null(view_stats_find(&r, 4));
    const int64_t shape[] = {1, 2};
    double plane[] = {1.5, NAN};
    s->low = -1, s->high = 1;
    s->bins[0][39] = 5;
    s->worst[0].index = "0, 1", s->worst[0].a = 1, s->worst[0].b = -2;
    s->worst_count = 1;
    s->curve[0].tolerance = 1e-3, s->curve[0].share = 0.25;
    s->curve_count = 1;
    s->plane[0] = plane, s->plane_shape = shape, s->plane_rank = 2;

    block b = read_block(&(asked){.results = &r, .what = 's', .k = 0});
    assert_int_equal(b.root->count, 4);
    assert_int_equal(json_at(b.root, 0)->type, JSON_NULL);
    const json_value *at = json_at(b.root, 3);
    assert_string_equal(text_of(&b, json_get(json_get(at, "a"), "max")), "inf");
    assert_int_equal(json_get(at, "b")->type, JSON_NULL);
    assert_int_equal(json_at(json_get(json_get(at, "histogram"), "a"), 39)->integer, 5);
    assert_null(json_get(json_get(at, "histogram"), "b"));
    assert_int_equal(json_get(at, "difference")->type, JSON_NULL);
    const json_value *worst = json_at(json_get(at, "worst"), 0);
    assert_string_equal(text_of(&b, json_at(worst, 0)), "0, 1");
    assert_true(json_at(worst, 3)->real == 3);
    assert_true(json_at(json_at(json_get(at, "curve"), 0), 1)->real == 0.25);
    assert_string_equal(text_of(&b, json_at(json_get(json_get(at, "plane"), "a"), 1)), "nan");
    assert_null(json_get(json_get(at, "plane"), "b"));
    close_block(&b);

    b = read_block(&(asked){.results = &r, .what = 's', .k = 1});
    assert_int_equal(b.root->count, 3);
    assert_int_equal(json_get(json_at(b.root, 2), "histogram")->type, JSON_NULL);
    close_block(&b);
    b = read_block(&(asked){.results = &r, .what = 's', .k = 3});
    assert_int_equal(b.root->count, 0);
    close_block(&b);
    b = read_block(&(asked){.results = &r, .what = 'r'});
    assert_int_equal(json_at(json_get(b.root, "stats"), 1)->integer, 258);
    close_block(&b);
    view_results_deinit(&r);
}

static void test_results__timeline_has_each_text_once(void **state)
{
    (void)state;
    view_results r = {0};
    uint32_t layers = 9, again = 9, device = 9;
    assert_int_equal(view_timeline_row(&layers, &r, "runner 0", "layers", NULL), PGY_OK);
    assert_int_equal(view_timeline_row(&device, &r, "runner 0", "device", NULL), PGY_OK);
    assert_int_equal(view_timeline_row(&again, &r, "runner 0", "layers", NULL), PGY_OK);
    assert_int_equal(layers, 0);
    assert_int_equal(device, 1);
    assert_int_equal(again, 0);
    r.timeline.source = "trtexec";
    const view_slice first = {.row = 0,
                              .node = 4,
                              .run = -1,
                              .start_us = 0.5,
                              .duration_us = 2,
                              .name = "conv",
                              .category = "layer"};
    view_slice second = first;
    second.node = VIEW_NONE, second.run = 3, second.category = NULL;
    assert_int_equal(view_timeline_slice(&r, &first, NULL), PGY_OK);
    assert_int_equal(view_timeline_slice(&r, &second, NULL), PGY_OK);
    block b = read_block(&(asked){.results = &r, .what = 't'});
    assert_int_equal(json_get(b.root, "strings")->count, 3); /* "", conv, layer */
    const json_value *slice = json_get(b.root, "slice");
    assert_int_equal(json_at(json_get(slice, "node"), 0)->integer, 4);
    assert_int_equal(json_at(json_get(slice, "node"), 1)->integer, -1);
    assert_int_equal(json_at(json_get(slice, "run"), 0)->integer, -1);
    assert_int_equal(json_at(json_get(slice, "name"), 1)->integer, 1);
    assert_int_equal(json_at(json_get(slice, "category"), 1)->integer, 0);
    assert_true(json_at(json_get(slice, "start"), 0)->real == 0.5);
    assert_int_equal(json_get(b.root, "note")->type, JSON_NULL);
    close_block(&b);
    view_results_deinit(&r);
}

static void test_results__search_steps(void **state)
{
    (void)state;
    view_results r = {.search_title = "debug reduce", .search_found = "node 3"};
    uint32_t nodes[] = {3, VIEW_NONE};
    const view_step step = {
        .title = "half", .verdict = VIEW_SKIP, .nodes = nodes, .node_count = 2, .seconds = NAN};
    assert_int_equal(view_step_add(&r, &step, NULL), PGY_OK);
    nodes[0] = 8; /* it was copied */
    block b = read_block(&(asked){.results = &r, .what = 'f'});
    const json_value *at = json_at(json_get(b.root, "steps"), 0);
    assert_string_equal(text_of(&b, json_get(at, "verdict")), "skip");
    assert_int_equal(json_at(json_get(at, "nodes"), 0)->integer, 3);
    assert_int_equal(json_at(json_get(at, "nodes"), 1)->integer, -1);
    assert_int_equal(json_get(at, "seconds")->type, JSON_NULL);
    assert_string_equal(text_of(&b, json_get(b.root, "found")), "node 3");
    close_block(&b);
    view_results_deinit(&r);
}

static void test_results__table_cells_by_kind_of_column(void **state)
{
    (void)state;
    view_results r = {0};
    view_column columns[] = {{"tensor", VIEW_COLUMN_TENSOR},
                             {"error", VIEW_COLUMN_NUMBER},
                             {"verdict", VIEW_COLUMN_VERDICT}};
    view_table *t = NULL;
    assert_int_equal(view_table_add(&t, &r,
                                    &(view_table){.id = "accuracy",
                                                  .title = "Accuracy",
                                                  .columns = columns,
                                                  .column_count = 3},
                                    NULL),
                     PGY_OK);
    const view_cell one[] = {{.text = "y", .ref = 2}, {.number = NAN}, {.text = "fail"}};
    const view_cell two[] = {{.text = "gone", .ref = VIEW_NONE}, {.is_empty = true}, {0}};
    assert_int_equal(view_table_row(&r, t, one, NULL), PGY_OK);
    assert_int_equal(view_table_row(&r, t, two, NULL), PGY_OK);
    block b = read_block(&(asked){.table = t, .what = 'T'});
    const json_value *rows = json_get(b.root, "rows");
    assert_int_equal(rows->count, 2);
    assert_int_equal(json_at(json_at(json_at(rows, 0), 0), 0)->integer, 2);
    assert_string_equal(text_of(&b, json_at(json_at(json_at(rows, 0), 0), 1)), "y");
    assert_string_equal(text_of(&b, json_at(json_at(rows, 0), 1)), "nan");
    assert_string_equal(text_of(&b, json_at(json_at(rows, 0), 2)), "fail");
    assert_int_equal(json_at(json_at(json_at(rows, 1), 0), 0)->integer, -1);
    assert_int_equal(json_at(json_at(rows, 1), 1)->type, JSON_NULL);
    assert_int_equal(json_at(json_at(rows, 1), 2)->type, JSON_NULL);
    assert_string_equal(text_of(&b, json_get(json_at(json_get(b.root, "columns"), 2), "kind")),
                        "verdict");
    close_block(&b);

    assert_int_equal(view_summary_add(&r, "Runners", "A", "cpu", NULL), PGY_OK);
    assert_string_equal(r.summary[0].section, "Runners");
    assert_string_equal(r.summary[0].text, "cpu");
    view_results_deinit(&r);
}

/* Whichever allocation fails, an adder says so or succeeds, and nothing leaks or breaks. */
static void test_results__any_allocation_may_fail(void **state)
{
    (void)state;
    if (!mem_fail_nth(0)) skip();
    const view_graph g = {.node_count = 3, .tensor_count = 3};
    view_column columns[] = {{"a", VIEW_COLUMN_TEXT}};
    size_t failures = 0;
    for (uint64_t n = 1; n < 60; n++) {
        view_results r = {0};
        view_quantity *q = NULL;
        view_stats *s = NULL;
        view_table *t = NULL;
        uint32_t row = 0;
        assert_true(mem_fail_nth(n));
        pgy_status st = view_quantity_add(
            &q, &r, &g, &(view_quantity){.id = "i", .label = "l", .group = "g"}, NULL);
        if (!st) st = view_mark_add(&r, &(view_mark){.text = "m"}, NULL);
        if (!st)
            st = view_table_add(
                &t, &r,
                &(view_table){.id = "t", .title = "t", .columns = columns, .column_count = 1},
                NULL);
        if (!st) st = view_table_row(&r, t, &(view_cell){.text = "x"}, NULL);
        if (!st) st = view_stats_add(&s, &r, 1, NULL);
        if (!st) st = view_step_add(&r, &(view_step){.title = "s"}, NULL);
        if (!st) st = view_timeline_row(&row, &r, "p", "n", NULL);
        if (!st) st = view_timeline_slice(&r, &(view_slice){.name = "n"}, NULL);
        if (!st) st = view_summary_add(&r, "s", "n", "t", NULL);
        assert_true(mem_fail_nth(0));
        assert_true(st == PGY_OK || st == PGY_E_MEMORY);
        if (st) failures++;
        view_results_deinit(&r);
    }
    assert_true(failures >= 9);
}

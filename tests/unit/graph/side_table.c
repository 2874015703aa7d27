/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of a graph, and tables by them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <polygraphy/graph.h>

#include "base/alloc.h"
#include "graph/graph.h"
#include "graph/side_table.h"
#include "harness/graph_case.h"

SIDE_TABLE(counts, uint32_t)
SIDE_TABLE(names, const char *)

static void test_side_table__what_was_never_written_is_zero(void **state)
{
    (void)state;
    counts t = {0};
    names n = {0};
    assert_int_equal(counts_get(&t, 0), 0);
    assert_int_equal(counts_get(&t, 123456), 0);
    *counts_at(&t, 5) = 7;
    assert_int_equal(counts_get(&t, 5), 7);
    assert_int_equal(counts_get(&t, 4), 0);
    assert_int_equal(counts_get(&t, 5 + SIDE_TABLE_PAGE), 0);
    assert_null(names_get(&n, 9));
    *names_at(&n, 9) = "nine";
    assert_string_equal(names_get(&n, 9), "nine");
    counts_deinit(&t);
    names_deinit(&n);
}

static void test_side_table__entries_keep_their_addresses(void **state)
{
    (void)state;
    counts t = {0};
    uint32_t *first = counts_at(&t, 3);
    *first = 1;
    for (size_t id = 0; id < 100000; id += 77) *counts_at(&t, id) += 2;
    assert_ptr_equal(counts_at(&t, 3), first);
    assert_int_equal(*first, 1);
    assert_int_equal(counts_get(&t, 77), 2);
    assert_int_equal(counts_get(&t, 78), 0);
    counts_clear(&t);
    assert_int_equal(*first, 0);
    assert_int_equal(counts_get(&t, 77), 0);
    counts_deinit(&t);
}

static void test_side_table__what_is_reserved_needs_no_memory(void **state)
{
    (void)state;
    id_marks t = {0};
    assert_true(id_marks_reserve(&t, 1000));
    if (mem_fail_nth(1)) {
        for (size_t id = 0; id < 1000; id++) assert_true(id_marks_set(&t, id));
        assert_false(id_marks_set(&t, 100000));
        mem_fail_nth(0);
    }
    assert_true(id_marks_set(&t, 999));
    assert_true(id_marks_get(&t, 999));
    assert_false(id_marks_get(&t, 1001));
    id_marks_deinit(&t);
}

/* An If with two branches, and a call of a function: four levels. */
static pgy_graph *nested_graph(void)
{
    model_builder b = builder_start(17);
    builder_opset(&b, "my", 1);
    model_builder f = builder_function(&b, "my", "twice", "a", "c", "");
    builder_node(&f, "Add", "a a", "c");
    builder_end_function(&f);
    builder_input(&b, "x", PGY_F32, "2");
    builder_input(&b, "p", PGY_BOOL, "");
    model_builder yes = builder_subgraph(&b, "yes"), no = builder_subgraph(&b, "no");
    builder_node(&yes, "Neg", "x", "y1");
    builder_output(&yes, "y1", PGY_F32, "2");
    builder_node(&no, "Abs", "x", "y2");
    builder_output(&no, "y2", PGY_F32, "2");
    pgy_onnx_node *choice = builder_node(&b, "If", "p", "y");
    builder_attr_graph(&b, choice, "then_branch", &yes);
    builder_attr_graph(&b, choice, "else_branch", &no);
    builder_node(&b, "my:twice", "y", "z");
    builder_output(&b, "z", PGY_F32, "2");
    return import_graph(&b);
}

static void test_side_table__ids_are_dense_and_unique_over_all_levels(void **state)
{
    (void)state;
    pgy_error err = {0};
    id_marks values = {0}, nodes = {0};
    pgy_graph *g = nested_graph();
    if (pgy_graph_infer_shapes(g, NULL, &err)) fail_msg("%s", err.text);
    const graph_state *s = state_of(g);
    size_t value_count = 0, node_count = 0;
    assert_int_equal(s->level_count, 4);
    for (size_t i = 0; i < s->level_count; i++) {
        const pgy_graph *level = s->levels[i];
        const strmap *map = &level_of(level)->values;
        assert_int_equal(level_id(level), i);
        for (size_t k = 0; k < map->count; k++, value_count++) {
            const size_t id = value_id(map->entries[k].value);
            assert_true(id < s->value_count);
            assert_false(id_marks_get(&values, id));
            assert_true(id_marks_set(&values, id));
        }
        for (size_t k = 0; k < level->node_count; k++, node_count++) {
            const size_t id = node_id(level->nodes[k]);
            assert_true(id < s->node_count);
            assert_false(id_marks_get(&nodes, id));
            assert_true(id_marks_set(&nodes, id));
        }
    }
    assert_int_equal(value_count, s->value_count);
    assert_int_equal(node_count, s->node_count);
    id_marks_deinit(&values);
    id_marks_deinit(&nodes);
    pgy_graph_destroy(g);
}

static void test_side_table__edits_leave_ids_alone(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_graph *g = nested_graph();
    const pgy_value *x = pgy_graph_find_value(g, "x");
    const size_t x_id = value_id(x), last_id = node_id(g->nodes[1]);
    pgy_value *input = (pgy_value *)x, *made = value_create_unique(g, "made", &err);
    pgy_node *n = NULL;
    assert_non_null(made);
    assert_int_equal(node_create(&n, g, "Relu", &input, 1, &made, 1, &err), PGY_OK);
    assert_int_equal(node_id(n), state_of(g)->node_count - 1);
    assert_int_equal(value_id(made), state_of(g)->value_count - 1);
    assert_int_equal(pgy_graph_sort(g, &err), PGY_OK);
    assert_int_equal(value_id(x), x_id);
    assert_int_equal(node_id(g->nodes[1]), last_id);
    pgy_graph_destroy(g);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fold_text.h"

static void text_cast(pgy_gs_graph *g, const char *name, const char *from, const char *to,
                      pgy_dtype dtype)
{
    text_attr(text_node(g, "Cast", name, from, to), pgy_gs_attr_dtype("to", dtype));
}

/* a, int64, cast to float, `op` with a constant, cast back. */
static pgy_gs_graph *with_constant(const char *op, const char *numbers)
{
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    text_cast(g, "in", "a", "fa", PGY_F32);
    text_type(g, "a", PGY_I64, "2");
    pgy_gs_node *n = text_node(g, op, "op", "fa", "r");
    assert_int_equal(pgy_gs_set_input(n, 1, text_floats(g, "k", numbers), &err), PGY_OK);
    text_cast(g, "out", "r", "z", PGY_I64);
    text_io(g, "a", "z");
    return g;
}

/* The same of a and b. */
static pgy_gs_graph *with_two(const char *op)
{
    pgy_gs_graph *g = text_graph();
    text_cast(g, "in0", "a", "fa", PGY_F32);
    text_cast(g, "in1", "b", "fb", PGY_F32);
    text_type(g, "a", PGY_I64, "2");
    text_type(g, "b", PGY_I64, "2");
    text_node(g, op, "op", "fa fb", "r");
    text_cast(g, "out", "r", "z", PGY_I64);
    text_io(g, "a b", "z");
    return g;
}

static void test_fold_cast__integers_are_used_as_they_are(void **state)
{
    (void)state;
    pgy_gs_graph *g = with_two("Add");
    pgy_error err = {0};
    fold(g);
    assert_node(g, "op", "Add(a, b -> z)");
    assert_node(g, "out", "Cast(r -> )");
    assert_int_equal(pgy_gs_cleanup(g, NULL, &err), PGY_OK);
    assert_nodes(g, "op");
    pgy_gs_destroy(g);
}

static void test_fold_cast__whole_constants_change_their_type(void **state)
{
    (void)state;
    pgy_gs_graph *g = with_constant("Mul", "2 -3");
    fold(g);
    assert_node(g, "op", "Mul(a, k -> z)");
    assert_value(g, "k", "int64 (2): 2 -3");
    pgy_gs_destroy(g);
}

static void check_stays(pgy_gs_graph *g, const char *node)
{
    fold(g);
    assert_node(g, "op", node);
    pgy_gs_destroy(g);
}

static void test_fold_cast__fractions_stay_floats(void **state)
{
    (void)state;
    check_stays(with_constant("Mul", "0.5"), "Mul(fa, k -> r)");
    check_stays(with_constant("Add", "1 2.5"), "Add(fa, k -> r)");
    check_stays(with_constant("Add", "inf"), "Add(fa, k -> r)");
    check_stays(with_constant("Add", "nan"), "Add(fa, k -> r)");
    check_stays(with_constant("Add", "1e19"), "Add(fa, k -> r)");
}

static void test_fold_cast__division_needs_a_divisor_that_cannot_trap(void **state)
{
    (void)state;
    check_stays(with_constant("Div", "2"), "Div(a, k -> z)");
    check_stays(with_constant("Div", "2 0"), "Div(fa, k -> r)");
    check_stays(with_constant("Div", "-1"), "Div(fa, k -> r)");
    check_stays(with_two("Div"), "Div(fa, fb -> r)");
}

static void test_fold_cast__another_float_input_stops_it(void **state)
{
    (void)state;
    pgy_gs_graph *g = with_two("Concat");
    pgy_error err = {0};
    assert_int_equal(pgy_gs_set_input(pgy_gs_find_node(g, "op"), 2, text_tensor(g, "f"), &err),
                     PGY_OK);
    check_stays(g, "Concat(fa, fb, f -> r)");
}

static void test_fold_cast__integers_of_two_types_stop_it(void **state)
{
    (void)state;
    pgy_gs_graph *g = with_two("Add");
    text_type(g, "b", PGY_I32, "2");
    check_stays(g, "Add(fa, fb -> r)");
    g = with_two("Add");
    text_type(g, "a", PGY_I32, "2");
    text_type(g, "b", PGY_I32, "2");
    check_stays(g, "Add(fa, fb -> r)"); /* the result is cast to another type */
}

static void test_fold_cast__results_that_others_read_stop_it(void **state)
{
    (void)state;
    pgy_gs_graph *g = with_two("Add");
    text_node(g, "Neg", "neg", "r", "n");
    text_io(g, "a b", "z n");
    check_stays(g, "Add(fa, fb -> r)");
    g = with_two("Add");
    text_io(g, "a b", "z r");
    check_stays(g, "Add(fa, fb -> r)");
    g = with_two("Add"); /* two readers, neither a Cast, and without outputs */
    pgy_gs_remove_node(pgy_gs_find_node(g, "out"));
    text_node(g, "Neg", "neg", "r", "");
    text_node(g, "Neg", "neg2", "r", "");
    check_stays(g, "Add(fa, fb -> r)");
}

static void test_fold_cast__operators_that_take_no_integers_yet_stay(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_gs_graph *g = with_two("Max");
    check_stays(g, "Max(fa, fb -> r)"); /* opset 11 */
    g = with_two("Max");
    assert_int_equal(pgy_gs_set_opset(g, 12, &err), PGY_OK);
    check_stays(g, "Max(a, b -> z)");
}

static void test_fold_cast__comparisons_keep_the_casts_behind(void **state)
{
    (void)state;
    pgy_gs_graph *g = with_two("Less");
    fold(g);
    assert_node(g, "op", "Less(a, b -> r)");
    assert_node(g, "out", "Cast(r -> z)");
    pgy_gs_destroy(g);
}

static void test_fold_cast__every_reader_keeps_a_producer(void **state)
{
    (void)state;
    pgy_gs_graph *g = with_two("Add");
    text_cast(g, "second", "r", "z2", PGY_I64);
    text_node(g, "Mul", "mul", "z z2", "y");
    text_io(g, "a b", "y");
    fold(g);
    assert_node(g, "op", "Add(a, b -> z)");
    assert_node(g, "mul", "Mul(z, z -> y)");
    pgy_gs_destroy(g);

    g = with_two("Add");
    text_cast(g, "second", "r", "z2", PGY_I64);
    text_io(g, "a b", "z z2");
    fold(g);
    assert_node(g, "op", "Add(a, b -> z)");
    assert_node(g, "second", "Cast(z -> z2)");
    pgy_gs_destroy(g);
}

static void test_fold_cast__constants_of_others_are_not_touched(void **state)
{
    (void)state;
    pgy_gs_graph *g = with_constant("Mul", "2");
    text_node(g, "Mul", "other", "fa k", "f");
    text_io(g, "a", "z f");
    fold(g);
    assert_node(g, "op", "Mul(a, k_int64 -> z)");
    assert_node(g, "other", "Mul(fa, k -> f)");
    assert_value(g, "k", "float32 (1): 2");
    assert_value(g, "k_int64", "int64 (1): 2");
    pgy_gs_destroy(g);
}

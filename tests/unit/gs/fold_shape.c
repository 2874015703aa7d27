/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fold_text.h"

/* Case 7 of the reference. */
static pgy_gs_graph *arithmetic(const char *shape)
{
    static const int64_t zero[] = {0}, two[] = {2};
    static const int32_t indices[] = {0, 1, 2, 3};
    pgy_error err = {0};
    pgy_gs_graph *g = text_graph();
    pgy_gs_tensor *c0 = text_constant(g, "constant0", PGY_I32, 1, two, indices);
    pgy_gs_tensor *c1 = text_constant(g, "constant1", PGY_I32, 1, two, indices + 2);
    text_node(g, "Shape", "myShape", "tensor0", "tensor1");
    pgy_gs_node *product = text_node(g, "ReduceProd", "myReduceProd0", "tensor1", "tensor2");
    pgy_gs_node *first = text_node(g, "Gather", "myGather0", "tensor1", "tensor4");
    pgy_gs_node *second = text_node(g, "Gather", "myGather1", "tensor1", "tensor5");
    assert_int_equal(pgy_gs_set_input(first, 1, c0, &err), PGY_OK);
    assert_int_equal(pgy_gs_set_input(second, 1, c1, &err), PGY_OK);
    text_node(g, "Reshape", "myReshape0", "tensor0 tensor2", "tensor3");
    pgy_gs_node *part = text_node(g, "ReduceProd", "myReduceProd1", "tensor5", "tensor6");
    text_attr(product, pgy_gs_attr_ints("axes", zero, 1));
    text_attr(part, pgy_gs_attr_ints("axes", zero, 1));
    text_attr(text_node(g, "Concat", "myConcat", "tensor4 tensor6", "tensor7"),
              pgy_gs_attr_int("axis", 0));
    text_node(g, "Reshape", "myReshape1", "tensor0 tensor7", "tensor8");
    text_io(g, "tensor0", "tensor3 tensor8");
    text_type(g, "tensor0", PGY_F32, shape);
    return g;
}

static void clean(pgy_gs_graph *g)
{
    pgy_error err = {0};
    assert_int_equal(pgy_gs_cleanup(g, NULL, &err), PGY_OK);
}

static void test_fold_shape__fixed_shapes_leave_no_arithmetic(void **state)
{
    (void)state;
    pgy_gs_graph *g = arithmetic("2 3 4 5");
    fold(g);
    clean(g);
    assert_nodes(g, "myReshape0 myReshape1");
    assert_value(g, "tensor2", "int64 (1): 120");
    assert_value(g, "tensor7", "int64 (3): 2 3 20");
    pgy_gs_destroy(g);
}

static void test_fold_shape__dynamic_dims_that_are_read_stop_it(void **state)
{
    (void)state;
    pgy_gs_graph *g = arithmetic("A 3 B 5");
    fold(g);
    clean(g);
    assert_int_equal(g->node_count, 8);
    pgy_gs_destroy(g);
}

static void test_fold_shape__only_dims_that_are_read_need_be_fixed(void **state)
{
    (void)state;
    pgy_gs_graph *g = arithmetic("A 3 224 5");
    fold(g);
    clean(g);
    assert_nodes(g, "myShape myReduceProd0 myGather0 myReshape0 myConcat myReshape1");
    assert_value(g, "tensor6", "int64 (1): 1120");
    pgy_gs_destroy(g);
}

static void test_fold_shape__may_be_kept(void **state)
{
    (void)state;
    pgy_gs_graph *g = arithmetic("2 3 4 5");
    pgy_gs_fold_options o = pgy_gs_fold_options_default();
    o.keep_shapes = true;
    fold_with(g, o);
    clean(g);
    assert_int_equal(g->node_count, 8);
    pgy_gs_destroy(g);
}

/* ---- Single nodes ---------------------------------------------------------------------------- */

enum { ABSENT = 99 };

static void check_shape(const char *shape, int64_t start, int64_t end, const char *wanted)
{
    pgy_gs_graph *g = text_graph();
    pgy_gs_node *n = text_node(g, "Shape", "shape", "x", "s");
    if (start != ABSENT) text_attr(n, pgy_gs_attr_int("start", start));
    if (end != ABSENT) text_attr(n, pgy_gs_attr_int("end", end));
    text_io(g, "x", "s");
    text_type(g, "x", PGY_F32, shape);
    fold(g);
    assert_value(g, "s", wanted);
    pgy_gs_destroy(g);
}

static void test_fold_shape__start_and_end_are_honoured(void **state)
{
    (void)state;
    check_shape("2 3 4", 1, ABSENT, "int64 (2): 3 4");
    check_shape("N 3 4", 1, ABSENT, "int64 (2): 3 4");
    check_shape("N 3 M", -2, -1, "int64 (1): 3");
    check_shape("N 3 M", 0, 2, "variable");
    check_shape("2 3", 5, ABSENT, "int64 (0):");
    check_shape("2 3", -9, 9, "int64 (2): 2 3");
    check_shape("2 3", 1, 0, "int64 (0):");
}

static void test_fold_shape__zero_is_a_fixed_size(void **state)
{
    (void)state;
    check_shape("0 2", ABSENT, ABSENT, "int64 (2): 0 2");
    check_shape("", ABSENT, ABSENT, "int64 (0):");
    check_shape("N", ABSENT, ABSENT, "variable");
}

static void check_size(const char *shape, const char *wanted)
{
    pgy_gs_graph *g = text_graph();
    text_node(g, "Size", "size", "x", "s");
    text_io(g, "x", "s");
    text_type(g, "x", PGY_F32, shape);
    fold(g);
    assert_value(g, "s", wanted);
    pgy_gs_destroy(g);
}

static void test_fold_shape__size(void **state)
{
    (void)state;
    check_size("2 3", "int64 (): 6");
    check_size("", "int64 (): 1");
    check_size("0 9223372036854775807 3", "int64 (): 0");
    check_size("9223372036854775807 3", "variable");
    check_size("N 3", "variable");
}

static void check_gather(const char *shape, size_t rank, const int64_t *sizes,
                         const int64_t *indices, const char *wanted)
{
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    pgy_gs_tensor *i = text_constant(g, "i", PGY_I64, rank, sizes, indices);
    text_node(g, "Shape", "shape", "x", "s");
    assert_int_equal(pgy_gs_set_input(text_node(g, "Gather", "gather", "s", "y"), 1, i, &err),
                     PGY_OK);
    text_io(g, "x", "y");
    text_type(g, "x", PGY_F32, shape);
    fold(g);
    assert_value(g, "y", wanted);
    pgy_gs_destroy(g);
}

static void test_fold_shape__gather_of_any_rank(void **state)
{
    (void)state;
    static const int64_t one[] = {1}, pair[] = {1, 2}, minus = -1, zero = 0, nine = 9;
    static const int64_t both[] = {1, 2};
    check_gather("N 3 224 5", 0, NULL, one, "int64 (): 3");
    check_gather("N 3 224 5", 0, NULL, &minus, "int64 (): 5");
    check_gather("N 3 224 5", 1, pair + 1, both, "int64 (2): 3 224");
    check_gather("N 3 224 5", 2, pair, both, "int64 (1, 2): 3 224");
    check_gather("N 3 224 5", 0, NULL, &zero, "variable");
    check_gather("N 3 224 5", 0, NULL, &nine, "variable");
}

static void check_slice(const char *shape, const char *bounds, const char *wanted)
{
    static const char *const names[] = {"starts", "ends", "axes", "steps"};
    double items[TEXT_NAMES];
    const size_t count = text_numbers(items, bounds);
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    text_node(g, "Shape", "shape", "x", "s");
    pgy_gs_node *n = text_node(g, "Slice", "slice", "s", "y");
    for (size_t i = 0; i < count; i++) {
        char number[32];
        snprintf(number, sizeof number, "%.0f", items[i]);
        assert_int_equal(pgy_gs_set_input(n, i + 1, text_ints(g, names[i], number), &err), PGY_OK);
    }
    text_io(g, "x", "y");
    text_type(g, "x", PGY_F32, shape);
    fold(g);
    assert_value(g, "y", wanted);
    pgy_gs_destroy(g);
}

static void test_fold_shape__slice_clips_as_numpy(void **state)
{
    (void)state;
    check_slice("N 3 224 5", "1 3", "int64 (2): 3 224");
    check_slice("N 3 224 5", "1 99 0 2", "int64 (2): 3 5");
    check_slice("N 3 224 5", "-1 0 0 -1", "int64 (3): 5 224 3");
    check_slice("2 3 4 5", "-1 -5 0 -1", "int64 (4): 5 4 3 2");
    check_slice("N 3 224 5", "3 1", "int64 (0):");
    check_slice("N 3 224 5", "0 2", "variable");
    check_slice("2 3 4 5", "0 9e18 0 9e18", "int64 (1): 2");
    check_slice("2 3 4 5", "-1 -9e18 -1 -9e18", "int64 (1): 5");
}

static void test_fold_shape__slice_of_old_opsets(void **state)
{
    (void)state;
    static const int64_t one[] = {1}, three[] = {3}, zero[] = {0};
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    assert_int_equal(pgy_gs_set_opset(g, 9, &err), PGY_OK);
    text_node(g, "Shape", "shape", "x", "s");
    pgy_gs_node *n = text_node(g, "Slice", "slice", "s", "y");
    text_attr(n, pgy_gs_attr_ints("starts", one, 1));
    text_attr(n, pgy_gs_attr_ints("ends", three, 1));
    text_attr(n, pgy_gs_attr_ints("axes", zero, 1));
    text_io(g, "x", "y");
    text_type(g, "x", PGY_F32, "N 3 224");
    fold(g);
    assert_value(g, "y", "int64 (2): 3 224");
    pgy_gs_destroy(g);
}

static void test_fold_shape__reads_the_part_that_shape_gives(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    pgy_error err = {0};
    pgy_gs_tensor *i = text_ints(g, "i", "0");
    text_attr(text_node(g, "Shape", "shape", "x", "s"), pgy_gs_attr_int("start", 1));
    assert_int_equal(pgy_gs_set_input(text_node(g, "Gather", "gather", "s", "y"), 1, i, &err),
                     PGY_OK);
    text_io(g, "x", "y");
    text_type(g, "x", PGY_F32, "N 3 224");
    fold(g);
    assert_value(g, "y", "int64 (1): 3");
    pgy_gs_destroy(g);
}

static void test_fold_shape__shapes_above_the_threshold_lead_to_small_results(void **state)
{
    (void)state;
    pgy_gs_graph *g = text_graph();
    pgy_gs_fold_options o = pgy_gs_fold_options_default();
    pgy_error err = {0};
    text_node(g, "Shape", "shape", "x", "s");
    text_node(g, "ReduceMax", "max", "s", "m");
    pgy_gs_tensor *in[] = {text_tensor(g, "s"), text_ints(g, "first", "0"),
                           text_ints(g, "end", "2")};
    pgy_gs_node *part = text_node(g, "Slice", "part", "", "p");
    assert_int_equal(pgy_gs_set_inputs(part, in, 3, &err), PGY_OK);
    text_node(g, "ReduceMin", "min", "p", "n");
    text_io(g, "x", "s m n");
    text_type(g, "x", PGY_F32, "2 3 4");
    o.size_threshold = 8;
    fold_with(g, o);
    assert_variable(g, "s");
    assert_node(g, "shape", "Shape(x -> s)");
    assert_value(g, "m", "int64 (1): 4");
    assert_variable(g, "p");
    assert_value(g, "n", "int64 (1): 2");
    pgy_gs_destroy(g);
}

static bool is_shape(const pgy_gs_node *n, void *user)
{
    (void)user;
    return strcmp(n->op, "Shape") == 0;
}

static void test_fold_shape__excluded_shapes_stay_and_block(void **state)
{
    (void)state;
    pgy_gs_graph *g = arithmetic("2 3 4 5");
    pgy_gs_fold_options o = pgy_gs_fold_options_default();
    o.exclude = is_shape;
    fold_with(g, o);
    clean(g);
    assert_int_equal(g->node_count, 8);
    pgy_gs_destroy(g);
}

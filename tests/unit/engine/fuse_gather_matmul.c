/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors times matrices that Gather or GatherND takes from a constant table become GatherMatMul of
 * pgy. Near misses stay as they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/pass_case.h"

/* A model with vectors x and numbers s from -2 to 2, whose whole parts are the indices i. */
static model_builder start_vectors(const char *vectors, const char *indices)
{
    model_builder b = builder_start(18);
    builder_input(&b, "x", PGY_F32, vectors);
    builder_input(&b, "s", PGY_F32, indices);
    builder_attr_int(&b, builder_node(&b, "Cast", "s", "i"), "to", 7);
    return b;
}

typedef struct shape_case {
    const char *gather, *indices, *a; /* a: shape of the vectors */
    int64_t axis;
    bool column, shared; /* shared: another node reads the matrices */
} shape_case;

static void expect(const shape_case *s, const char *nodes)
{
    model_builder b = start_vectors(s->a, s->indices);
    weights(&b, "w", "3, 6, 6", 108);
    pgy_onnx_node *n = builder_node(&b, s->gather, "w i", "g");
    if (s->axis) builder_attr_int(&b, n, "axis", s->axis);
    builder_node(&b, "MatMul", s->column ? "g x" : "x g", s->shared ? "p" : "y");
    if (s->shared) builder_node(&b, "ReduceSum", "g", "r");
    if (s->shared) builder_node(&b, "Add", "p r", "y");
    expect_y(&b, nodes);
}

static void test_fuse_gather_matmul__rows_and_columns(void **state)
{
    (void)state;
    expect(&(shape_case){"Gather", "6", "6, 1, 6"}, "Cast GatherMatMul");
    expect(&(shape_case){"Gather", "6", "6, 6, 1", .column = true}, "Cast GatherMatMul");
    expect(&(shape_case){"GatherND", "6, 1", "6, 1, 6"}, "Cast GatherMatMul");
    expect(&(shape_case){"GatherND", "6, 1", "6, 6, 1", .column = true}, "Cast GatherMatMul");
}

static void test_fuse_gather_matmul__near_misses(void **state)
{
    (void)state;
    /* Matrices instead of vectors, one vector for all, another axis, lists of lists. */
    expect(&(shape_case){"Gather", "6", "6, 2, 6"}, "Cast Gather MatMul");
    expect(&(shape_case){"Gather", "6", "1, 1, 6"}, "Cast Gather MatMul");
    expect(&(shape_case){"Gather", "6", "3, 1, 6", .axis = 1}, "Cast Gather MatMul");
    expect(&(shape_case){"Gather", "2, 3", "2, 3, 1, 6"}, "Cast Gather MatMul");
    expect(&(shape_case){"Gather", "6", "6, 1, 6", .shared = true}, "Cast Gather MatMul ReduceSum Add");
}

static void test_fuse_gather_matmul__a_table_that_is_an_input(void **state)
{
    (void)state;
    model_builder b = start_vectors("3, 6, 6", "6");
    weights(&b, "a", "6, 1, 6", 36);
    builder_node(&b, "Gather", "x i", "g");
    builder_node(&b, "MatMul", "a g", "y");
    expect_y(&b, "Cast Gather MatMul");
}

static void test_fuse_gather_matmul__cuda_devices_gather_and_multiply(void **state)
{
    (void)state;
    model_builder b = start_vectors("6, 1, 6", "6");
    weights(&b, "w", "3, 6, 6", 108);
    builder_node(&b, "Gather", "w i", "g");
    builder_node(&b, "MatMul", "x g", "y");
    expect_y_on(&b, "cuda", "Cast Gather MatMul");
}

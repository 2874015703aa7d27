/* SPDX-License-Identifier: Apache-2.0 */
/* Passes for CUDA devices: a normalisation with its activation, caches that stay where they lie,
 * products of one tensor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/pass_case.h"

/* ---- Group normalisation and x * sigmoid(x) -------------------------------------------------- */

static model_builder normalised(float factor)
{
    static const int64_t GROUPS[] = {0, 3, -1}, WHOLE[] = {2, 6, 5, 5};
    static const float ONES[] = {1, 1, 1}, ZEROS[] = {0, 0, 0};
    model_builder b = start("2, 6, 5, 5");
    ints(&b, "groups", "3", GROUPS);
    ints(&b, "whole", "4", WHOLE);
    builder_floats(&b, "ones", "3", ONES);
    builder_floats(&b, "zeros", "3", ZEROS);
    weights(&b, "g", "6, 1, 1", 6);
    weights(&b, "b", "6, 1, 1", 6);
    scalar(&b, "factor", factor);
    builder_node(&b, "Reshape", "x groups", "r");
    builder_node(&b, "InstanceNormalization", "r ones zeros", "i");
    builder_node(&b, "Reshape", "i whole", "w");
    builder_node(&b, "Mul", "w g", "m");
    builder_node(&b, "Add", "m b", "n");
    builder_node(&b, "Mul", "n factor", "f");
    builder_node(&b, "Sigmoid", "f", "s");
    builder_node(&b, "Mul", "n s", "y");
    return b;
}

static void test_cuda_passes__a_normalisation_takes_silu(void **state)
{
    (void)state;
    model_builder b = normalised(1);
    expect_y_on(&b, "cuda", "GroupNorm");
}

static void test_cuda_passes__another_swish_stays(void **state)
{
    (void)state;
    model_builder b = normalised(1.702f);
    expect_y_on(&b, "cuda", "GroupNormalization QuickGelu");
}

static void test_cuda_passes__the_host_has_no_such_kernel(void **state)
{
    (void)state;
    model_builder b = normalised(1);
    expect_y_on(&b, NULL, "GroupNormalization QuickGelu");
}

/* ---- Caches ---------------------------------------------------------------------------------- */

/* Queries x; keys and values behind caches along `axis`. */
static model_builder decoded(int64_t axis, const char *past, const char *fresh, bool read_again)
{
    static const int64_t TURNED[] = {0, 1, 3, 2};
    model_builder b = start("1, 2, 1, 8");
    scalar(&b, "scale", 0.5f);
    builder_input(&b, "k", PGY_F32, fresh);
    builder_input(&b, "v", PGY_F32, fresh);
    builder_input(&b, "pk", PGY_F32, past);
    builder_input(&b, "pv", PGY_F32, past);
    builder_attr_int(&b, builder_node(&b, "Concat", "pk k", "ks"), "axis", axis);
    builder_attr_int(&b, builder_node(&b, "Concat", "pv v", "vs"), "axis", axis);
    builder_attr_ints(&b, builder_node(&b, "Transpose", "ks", "kt"), "perm", 4, TURNED);
    builder_node(&b, "MatMul", "x kt", "qk");
    builder_node(&b, "Mul", "qk scale", "s");
    builder_attr_int(&b, builder_node(&b, "Softmax", "s", "p"), "axis", -1);
    builder_node(&b, "MatMul", "p vs", "y");
    if (read_again) {
        builder_node(&b, "Neg", "vs", "again");
        builder_output(&b, "again", PGY_F32, NULL);
    }
    return b;
}

static void test_cuda_passes__attention_reads_caches(void **state)
{
    (void)state;
    model_builder b = decoded(2, "1, 2, 6, 8", "1, 2, 1, 8", false);
    expect_y_on(&b, "cuda", "Attention");
}

static void test_cuda_passes__caches_with_other_readers_stay(void **state)
{
    (void)state;
    model_builder b = decoded(2, "1, 2, 6, 8", "1, 2, 1, 8", true);
    expect_y_on(&b, "cuda", "Concat Concat Neg Attention");
}

static void test_cuda_passes__heads_are_no_caches(void **state)
{
    (void)state;
    model_builder b = decoded(1, "1, 1, 7, 8", "1, 1, 7, 8", false);
    expect_y_on(&b, "cuda", "Concat Concat Attention");
}

/* ---- Products -------------------------------------------------------------------------------- */

static model_builder two_products(const char *shape)
{
    model_builder b = start(shape);
    weights(&b, "w", "8, 5", 40);
    weights(&b, "u", "8, 3", 24);
    builder_node(&b, "MatMul", "x w", "a");
    builder_node(&b, "MatMul", "x u", "c");
    builder_node(&b, "Neg", "a", "y");
    builder_node(&b, "Neg", "c", "z");
    builder_output(&b, "z", PGY_F32, NULL);
    return b;
}

static void test_cuda_passes__products_of_few_rows_become_one(void **state)
{
    (void)state;
    model_builder b = two_products("1, 3, 8");
    expect_y_on(&b, "cuda", "MatMul Split Neg Neg");
}

static void test_cuda_passes__products_of_many_rows_stay(void **state)
{
    (void)state;
    model_builder b = two_products("2, 5, 8");
    expect_y_on(&b, "cuda", "MatMul MatMul Neg Neg");
}

static void test_cuda_passes__the_host_keeps_products(void **state)
{
    (void)state;
    model_builder b = two_products("1, 3, 8");
    expect_y_on(&b, NULL, "MatMul MatMul Neg Neg");
}

static void test_cuda_passes__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_join_products)) skip();
    test_cuda_passes__products_of_few_rows_become_one(state);
    refuse_allocations_of(NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Passes that CUDA devices need: a normalisation with its activation, caches that stay where they
 * lie, products of one tensor, of few bits and of float8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

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
    b = normalised(1);
    expect_y_on(&b, NULL, "GroupNorm");
}

static void test_cuda_passes__another_swish_stays(void **state)
{
    (void)state;
    model_builder b = normalised(1.702f);
    expect_y_on(&b, "cuda", "GroupNormalization QuickGelu");
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

/* A product in 16 bits of rows of x that are normalised by `norm`. */
static model_builder normalised_product(const char *shape, const char *norm, bool read_again)
{
    static const char *const NAMES[] = {"x", "g", "s", "w"};
    model_builder b = start(shape);
    weights(&b, "g", "8", 8);
    weights(&b, "s", "8", 8);
    weights(&b, "w", "8, 5", 40);
    for (size_t i = 0; i < 4; i++) {
        char to[8];
        snprintf(to, sizeof to, "%s16", NAMES[i]);
        builder_attr_int(&b, builder_node(&b, "Cast", NAMES[i], to), "to", 10);
    }
    builder_node(&b, norm, strcmp(norm, "LayerNormalization") ? "x16 g16" : "x16 g16 s16", "n");
    builder_node(&b, "MatMul", "n w16", "p");
    builder_attr_int(&b, builder_node(&b, "Cast", "p", "y"), "to", 1);
    if (read_again) {
        builder_attr_int(&b, builder_node(&b, "Cast", "n", "z"), "to", 1);
        builder_output(&b, "z", PGY_F32, NULL);
    }
    return b;
}

static void test_cuda_passes__a_product_of_few_rows_takes_their_normalisation(void **state)
{
    (void)state;
    model_builder b = normalised_product("1, 2, 8", "LayerNormalization", false);
    expect_y_on(&b, "cuda", "Cast NormalisedMatMul Cast");
    b = normalised_product("1, 8", "SimplifiedLayerNormalization", false);
    expect_y_on(&b, "cuda", "Cast NormalisedMatMul Cast");
}

static void test_cuda_passes__other_normalisations_stay(void **state)
{
    (void)state;
    model_builder b = normalised_product("1, 3, 8", "LayerNormalization", false); /* rows */
    expect_y_on(&b, "cuda", "Cast LayerNormalization MatMul Cast");
    b = normalised_product("1, 2, 8", "LayerNormalization", true);
    expect_y_on(&b, "cuda", "Cast LayerNormalization MatMul Cast Cast");
    b = normalised_product("1, 2, 8", "LayerNormalization", false);
    expect_y_on(&b, NULL, "Cast LayerNormalization MatMul Cast");
}

/* ---- Few bits -------------------------------------------------------------------------------- */

static void few_bits(model_builder *b, const char *codes, const char *scales, int64_t columns,
                     const char *inputs, const char *output)
{
    char shape[32];
    pgy_tensor *t = NULL;
    const int64_t sizes[] = {columns, 2, 16};
    assert_int_equal(pgy_tensor_create(&t, PGY_U8, 3, sizes, NULL), 0);
    for (size_t i = 0; i < pgy_tensor_count(t); i++)
        ((uint8_t *)pgy_tensor_data(t))[i] = (uint8_t)(i * 7919 % 251);
    builder_initializer(b, codes, t);
    pgy_tensor_release(t);
    snprintf(shape, sizeof shape, "%d, 2", (int)columns);
    weights_from(b, scales, shape, (size_t)columns * 2, 1.1f);
    pgy_onnx_node *n = builder_node(b, "com.microsoft:MatMulNBits", inputs, output);
    builder_attr_int(b, n, "K", 64);
    builder_attr_int(b, n, "N", columns);
    builder_attr_int(b, n, "block_size", 32);
}

static model_builder two_of_few_bits(const char *shape)
{
    model_builder b = start(shape);
    builder_opset(&b, "com.microsoft", 1);
    few_bits(&b, "w", "s", 5, "x w s", "a");
    few_bits(&b, "u", "t", 3, "x u t", "c");
    builder_node(&b, "Neg", "a", "y");
    builder_node(&b, "Neg", "c", "z");
    builder_output(&b, "z", PGY_F32, NULL);
    return b;
}

static void test_cuda_passes__few_bits_of_few_rows_become_one(void **state)
{
    (void)state;
    model_builder b = two_of_few_bits("1, 3, 64");
    expect_y_on(&b, "cuda", "MatMulNBits Split Neg Neg");
    b = two_of_few_bits("2, 5, 64");
    expect_y_on(&b, "cuda", "MatMulNBits MatMulNBits Neg Neg");
    b = two_of_few_bits("1, 3, 64");
    expect_y_on(&b, NULL, "MatMulNBits MatMulNBits Neg Neg");
}

/* ---- float8 ---------------------------------------------------------------------------------- */

static void zero8(model_builder *b, const char *name, pgy_dtype type)
{
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_create(&t, type, 0, NULL, NULL), 0);
    memset(pgy_tensor_data(t), 0, 1);
    builder_initializer(b, name, t);
    pgy_tensor_release(t);
}

/* x, which is quantised, times constants of `depth` rows; then a bias, Relu, and float8 again. */
static model_builder float8_product(int64_t depth, pgy_dtype type)
{
    const int64_t sizes[] = {depth, 6};
    char shape[32];
    pgy_tensor *t = NULL;
    snprintf(shape, sizeof shape, "3, %d", (int)depth);
    model_builder b = start(shape);
    b.proto->opset_imports[0]->version = 21;
    assert_int_equal(pgy_tensor_create(&t, type, 2, sizes, NULL), 0);
    for (size_t i = 0; i < pgy_tensor_count(t); i++)
        ((uint8_t *)pgy_tensor_data(t))[i] = (uint8_t)(0x28 + i % 16 + i % 3 / 2 * 0x80);
    builder_initializer(&b, "w", t);
    pgy_tensor_release(t);
    zero8(&b, "zero", type);
    scalar(&b, "s", 0.125f);
    weights(&b, "bias", "6", 6);
    builder_node(&b, "QuantizeLinear", "x s zero", "q");
    builder_node(&b, "DequantizeLinear", "q s zero", "xd");
    builder_node(&b, "DequantizeLinear", "w s zero", "wd");
    builder_node(&b, "MatMul", "xd wd", "p");
    builder_node(&b, "Add", "p bias", "a");
    builder_node(&b, "Relu", "a", "r");
    return b;
}

static void test_cuda_passes__float8(void **state)
{
    (void)state;
    static const pgy_dtype TYPES[] = {PGY_F8E4M3FN, PGY_F8E5M2};
    for (size_t i = 0; i < 2; i++) {
        model_builder b = float8_product(16, TYPES[i]);
        builder_node(&b, "Neg", "r", "y");
        expect_y_on(&b, "cuda", "QuantizeLinear Float8MatMul Neg");
    }
}

static void test_cuda_passes__float8_of_the_result(void **state)
{
    (void)state;
    model_builder b = float8_product(16, PGY_F8E4M3FN);
    builder_node(&b, "QuantizeLinear", "r s zero", "rq");
    builder_node(&b, "DequantizeLinear", "rq s zero", "y");
    expect_y_on(&b, "cuda", "QuantizeLinear Float8MatMul DequantizeLinear");
}

/* Rows that are no whole 16 bytes, and other devices. */
static void test_cuda_passes__float8_stays(void **state)
{
    (void)state;
    model_builder b = float8_product(24, PGY_F8E4M3FN);
    builder_node(&b, "Neg", "r", "y");
    expect_y_on(&b, "cuda", "QuantizeLinear DequantizeLinear FusedMatMul Neg");
    b = float8_product(16, PGY_F8E4M3FN);
    builder_node(&b, "Neg", "r", "y");
    expect_y_on(&b, NULL, "QuantizeLinear DequantizeLinear FusedMatMul Neg");
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void test_cuda_passes__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_join_products)) skip();
    test_cuda_passes__products_of_few_rows_become_one(state);
    refuse_allocations_of(&PASS_join_few_bits);
    test_cuda_passes__few_bits_of_few_rows_become_one(state);
    refuse_allocations_of(&PASS_fuse_norm_products);
    test_cuda_passes__a_product_of_few_rows_takes_their_normalisation(state);
    refuse_allocations_of(&PASS_fuse_float8);
    test_cuda_passes__float8_of_the_result(state);
    refuse_allocations_of(NULL);
}

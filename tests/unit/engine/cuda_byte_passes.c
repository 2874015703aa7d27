/* SPDX-License-Identifier: Apache-2.0 */
/* Passes for CUDA devices on quantised bytes: rows between Q/DQ, sums behind products, matrices
 * that are read as they lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "harness/quantized_case.h"

/* ---- Rows ------------------------------------------------------------------------------------ */

static model_builder softmax(const char *shape, pgy_dtype end)
{
    model_builder b = start_quantised(shape, PGY_I8);
    builder_attr_int(&b, builder_node(&b, "Softmax", "xd", "s"), "axis", -1);
    end_quantised(&b, "s", 0.0039f, end, end == PGY_I8 ? -128 : 0);
    return b;
}

static void test_cuda_byte_passes__softmax(void **state)
{
    (void)state;
    model_builder b = softmax("3, 40", PGY_I8);
    expect_y_on(&b, "cuda", "QuantizeLinear QLinearSoftmax DequantizeLinear");
}

/* Another type of bytes, and the host, whose kernels of floats are faster. */
static void test_cuda_byte_passes__softmax_stays(void **state)
{
    (void)state;
    model_builder b = softmax("3, 40", PGY_U8);
    expect_y_on(&b, "cuda",
                "QuantizeLinear DequantizeLinear Softmax QuantizeLinear DequantizeLinear");
    b = softmax("3, 40", PGY_I8);
    expect_y_on(&b, NULL,
                "QuantizeLinear DequantizeLinear Softmax QuantizeLinear DequantizeLinear");
}

/* LayerNormalization of x or of its sum with other bytes; the sum may have another reader. */
static model_builder norm(const char *shape, const char *length, bool sum, bool read_again)
{
    char count[16];
    snprintf(count, sizeof count, "%s", length);
    model_builder b = start_quantised(shape, PGY_I8);
    weights(&b, "g", count, strtoul(length, NULL, 10));
    weights(&b, "b", count, strtoul(length, NULL, 10));
    if (sum) {
        builder_node(&b, "Neg", "x", "n");
        quantise(&b, "n", "r", 0.021f, PGY_I8, 4);
        builder_node(&b, "Add", "xd rd", "a");
        quantise(&b, "a", "q", 0.033f, PGY_I8, -7);
    }
    builder_node(&b, "LayerNormalization", sum ? "qd g b" : "xd g b", "l");
    end_quantised(&b, "l", 0.025f, PGY_I8, 3);
    if (read_again) {
        builder_node(&b, "Neg", "qd", "again");
        builder_output(&b, "again", PGY_F32, NULL);
    }
    return b;
}

static void test_cuda_byte_passes__layer_normalisation(void **state)
{
    (void)state;
    model_builder b = norm("3, 40", "40", false, false);
    expect_y_on(&b, "cuda", "QuantizeLinear QLinearLayerNormalization DequantizeLinear");
}

static void test_cuda_byte_passes__layer_normalisation_takes_a_sum(void **state)
{
    (void)state;
    model_builder b = norm("3, 40", "40", true, false);
    expect_y_on(&b, "cuda",
                "QuantizeLinear Neg QuantizeLinear QLinearLayerNormalization DequantizeLinear");
    b = norm("3, 40", "40", true, true);
    expect_y_on(&b, "cuda",
                "QuantizeLinear Neg QuantizeLinear QLinearAdd DequantizeLinear "
                "QLinearLayerNormalization DequantizeLinear Neg");
}

/* Rows that are no whole words. */
static void test_cuda_byte_passes__layer_normalisation_stays(void **state)
{
    (void)state;
    model_builder b = norm("3, 42", "42", false, false);
    expect_y_on(&b, "cuda",
                "QuantizeLinear DequantizeLinear LayerNormalization QuantizeLinear "
                "DequantizeLinear");
}

/* ---- Products -------------------------------------------------------------------------------- */

/* x times a constant of `columns` columns, and what is added to its bytes: a row, or a number. */
static model_builder product(int64_t columns, int64_t added)
{
    const int64_t shape[] = {40, columns};
    model_builder b = start_quantised("3, 40", PGY_I8);
    bytes(&b, "w", PGY_I8, 2, shape, -100, 1);
    grid(&b, "ws", 0.011f, "wz", PGY_I8, 0);
    builder_node(&b, "DequantizeLinear", "w ws wz", "wd");
    bytes(&b, "c", PGY_I8, 1, &added, -90, 1);
    grid(&b, "cs", 0.02f, "cz", PGY_I8, 5);
    builder_node(&b, "DequantizeLinear", "c cs cz", "cd");
    builder_node(&b, "MatMul", "xd wd", "p");
    quantise(&b, "p", "q", 0.3f, PGY_I8, 9);
    builder_node(&b, "Add", "cd qd", "a");
    end_quantised(&b, "a", 0.31f, PGY_I8, 3);
    return b;
}

static void test_cuda_byte_passes__a_product_takes_a_row(void **state)
{
    (void)state;
    model_builder b = product(16, 16);
    expect_y_on(&b, "cuda", "QuantizeLinear QLinearMatMul DequantizeLinear");
}

/* Columns that are no whole vectors, and the host. */
static void test_cuda_byte_passes__a_product_without_its_row(void **state)
{
    (void)state;
    model_builder b = product(12, 12);
    expect_y_on(&b, "cuda", "QuantizeLinear QLinearMatMul QLinearAdd DequantizeLinear");
    b = product(16, 16);
    expect_y_on(&b, NULL, "QuantizeLinear QLinearMatMul QLinearAdd DequantizeLinear");
}

/* Scores of x with other bytes [2, 6, 8] in an order of axes. */
static model_builder scores(const char *shape, const int64_t *order)
{
    model_builder b = start_quantised("2, 3, 8", PGY_I8);
    builder_input(&b, "k", PGY_F32, shape);
    quantise(&b, "k", "q", 0.016f, PGY_I8, 2);
    builder_attr_ints(&b, builder_node(&b, "Transpose", "qd", "t"), "perm", 3, order);
    quantise(&b, "t", "u", 0.016f, PGY_I8, 2);
    builder_node(&b, "MatMul", "xd ud", "p");
    end_quantised(&b, "p", 0.05f, PGY_I8, 1);
    return b;
}

static void test_cuda_byte_passes__rows_of_keys_stay_rows(void **state)
{
    static const int64_t COLUMNS[] = {0, 2, 1}, FIRST[] = {1, 2, 0}, ROWS[] = {1, 0, 2};
    (void)state;
    model_builder b = scores("2, 6, 8", COLUMNS);
    expect_y_on(&b, "cuda",
                "QuantizeLinear QuantizeLinear Transpose QLinearMatMul DequantizeLinear");
    b = scores("6, 2, 8", FIRST);
    expect_y_on(&b, "cuda",
                "QuantizeLinear QuantizeLinear Transpose QLinearMatMul DequantizeLinear");
    b = scores("8, 2, 6", ROWS);
    expect_y_on(&b, "cuda",
                "QuantizeLinear QuantizeLinear Transpose QLinearMatMul DequantizeLinear");
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void test_cuda_byte_passes__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_fuse_byte_rows)) skip();
    test_cuda_byte_passes__softmax(state);
    test_cuda_byte_passes__layer_normalisation_takes_a_sum(state);
    refuse_allocations_of(&PASS_fuse_byte_sums);
    test_cuda_byte_passes__a_product_takes_a_row(state);
    test_cuda_byte_passes__rows_of_keys_stay_rows(state);
    refuse_allocations_of(NULL);
}

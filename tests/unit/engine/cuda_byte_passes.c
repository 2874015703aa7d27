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

/* ---- Memory ---------------------------------------------------------------------------------- */

static void test_cuda_byte_passes__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_fuse_byte_rows)) skip();
    test_cuda_byte_passes__softmax(state);
    test_cuda_byte_passes__layer_normalisation_takes_a_sum(state);
    refuse_allocations_of(NULL);
}

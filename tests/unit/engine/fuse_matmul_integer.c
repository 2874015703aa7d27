/* SPDX-License-Identifier: Apache-2.0 */
/* What dynamic quantisation leaves around a product: sums that become floats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/quantized_case.h"

/* q: the bytes of x; p: the scale of their products with w, in which there is a number for each of
 * `scales` columns. */
static model_builder start_dynamic(const char *shape, const char *scales, size_t count)
{
    model_builder b = start(shape);
    weights_from(&b, "ws", scales, count, 1.5f);
    builder_node(&b, "DynamicQuantizeLinear", "x", "q s z");
    builder_node(&b, "Mul", "s ws", "p");
    return b;
}

static void to_floats(model_builder *b, const char *sums)
{
    builder_attr_int(b, builder_node(b, "Cast", sums, "f"), "to", 1);
}

static void test_fuse_matmul_integer__scale_and_bias(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        model_builder b = start_dynamic("2, 5, 8", form & 1 ? "6" : "1", form & 1 ? 6 : 1);
        bytes(&b, "w", PGY_I8, 2, (const int64_t[]){8, 6}, -126, 1);
        bytes(&b, "wz", PGY_I8, 0, NULL, 3, 0);
        weights(&b, "bias", "6", 6);
        builder_node(&b, "MatMulInteger", form & 2 ? "q w z wz" : "q w z", "m");
        to_floats(&b, "m");
        builder_node(&b, "Mul", form & 2 ? "p f" : "f p", "t");
        builder_node(&b, "Add", form & 2 ? "bias t" : "t bias", "y");
        expect_y(&b, "DynamicQuantizeLinear Mul MatMulIntegerToFloat");
    }
}

/* A scale for each row is none that the fused operator has. */
static void test_fuse_matmul_integer__other_scales_stay(void **state)
{
    (void)state;
    model_builder b = start_dynamic("5, 8", "5, 1", 5);
    bytes(&b, "w", PGY_I8, 2, (const int64_t[]){8, 6}, -126, 1);
    builder_node(&b, "MatMulInteger", "q w z", "m");
    to_floats(&b, "m");
    builder_node(&b, "Mul", "f p", "y");
    expect_y(&b, "DynamicQuantizeLinear Mul MatMulInteger Cast Mul");
}

static void test_fuse_matmul_integer__refused_allocations_are_reported(void **state)
{
    if (!refuse_allocations_of(&PASS_fuse_matmul_integer)) skip();
    test_fuse_matmul_integer__scale_and_bias(state);
    refuse_allocations_of(NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Gates of com.microsoft that become elementwise operators, and those that stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/pass_case.h"

static model_builder rows(const char *shape)
{
    model_builder b = start(shape);
    builder_opset(&b, "com.microsoft", 1);
    return b;
}

static void test_lower_gates__gated_add(void **state)
{
    (void)state;
    for (int fused = 0; fused < 2; fused++) {
        model_builder b = rows("2, 3, 8");
        weights(&b, "other", "2, 3, 8", 48);
        builder_node(&b, "Relu", "x", "given");
        builder_node(&b, "Sigmoid", "other", "added");
        node_ints(&b, builder_node(&b, "ReduceMax", "x", "gate"), "axes", 2);
        builder_node(&b, "com.microsoft:GatedAdd", "given added gate", "y");
        if (fused)
            expect_fused_y(&b, "ReduceMax Elementwise");
        else
            expect_y(&b, "Relu ReduceMax Mul Add");
    }
}

static void test_lower_gates__scaled_silu(void **state)
{
    (void)state;
    model_builder b = rows("2, 8");
    builder_attr_float(&b, builder_node(&b, "com.microsoft:ScaledSiLU", "x", "y"), "alpha", 1.5F);
    expect_y(&b, "Mul QuickGelu");
    b = rows("2, 8");
    builder_node(&b, "com.microsoft:ScaledSiLU", "x", "y");
    expect_y(&b, "QuickGelu");
    b = rows("2, 8");
    scalar(&b, "scale", 0.5F);
    builder_node(&b, "com.microsoft:ScaledSiLU", "x scale", "y");
    expect_y(&b, "Mul QuickGelu");
}

static void test_lower_gates__linear_attention_gate(void **state)
{
    (void)state;
    model_builder b = rows("2, 3, 4");
    weights(&b, "bias", "4", 4);
    weights(&b, "scale", "4", 4);
    builder_node(&b, "com.microsoft:LinearAttentionGate", "x bias scale", "y");
    expect_y(&b, "Add Softplus Mul");
    b = rows("2, 3, 4");
    weights(&b, "bias", "4", 4);
    weights(&b, "scale", "4", 4);
    builder_node(&b, "com.microsoft:LinearAttentionGate", "x bias scale x", "decay beta");
    builder_attr_int(&b, builder_node(&b, "Concat", "decay beta", "y"), "axis", 0);
    expect_y(&b, "Add Softplus Mul Sigmoid Concat");
}

/* In 16 bits, several operators would round several times. */
static void test_lower_gates__float16_stays(void **state)
{
    (void)state;
    model_builder b = rows("2, 8");
    builder_attr_int(&b, builder_node(&b, "Cast", "x", "narrow"), "to", 10);
    builder_node(&b, "com.microsoft:ScaledSiLU", "narrow", "silu");
    builder_attr_int(&b, builder_node(&b, "Cast", "silu", "y"), "to", 1);
    expect_y(&b, "Cast ScaledSiLU Cast");
}

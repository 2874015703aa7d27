/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise nodes that become one, and those that must not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "harness/pass_case.h"

static void test_fuse_elementwise__a_chain_with_broadcasts(void **state)
{
    (void)state;
    model_builder b = start("2, 3, 4");
    weights(&b, "row", "4", 4);
    weights(&b, "column", "3, 1", 3);
    scalar(&b, "low", -0.5f);
    scalar(&b, "high", 2);
    builder_node(&b, "Mul", "x row", "a");
    builder_node(&b, "Tanh", "a", "c");
    builder_node(&b, "Add", "column c", "d");
    builder_node(&b, "Clip", "d low high", "e");
    builder_attr_float(&b, builder_node(&b, "LeakyRelu", "e", "f"), "alpha", 0.25f);
    builder_node(&b, "Sub", "f x", "y");
    expect_fused_y(&b, "Elementwise");
}

static void test_fuse_elementwise__branches_that_meet(void **state)
{
    (void)state;
    model_builder b = start("5, 4");
    builder_node(&b, "Abs", "x", "a");
    builder_node(&b, "Sqrt", "a", "c");
    builder_node(&b, "Exp", "x", "d");
    builder_node(&b, "Neg", "d", "e");
    builder_node(&b, "Mul", "c e", "f");
    builder_node(&b, "Sigmoid", "f", "y");
    expect_fused_y(&b, "Elementwise");
}

static void test_fuse_elementwise__sixty_five_steps_are_two_nodes(void **state)
{
    (void)state;
    model_builder b = start("4");
    char from[16] = "x", to[16];
    for (int i = 0; i < 65; i++) {
        snprintf(to, sizeof to, i == 64 ? "y" : "t%d", i);
        builder_node(&b, i % 2 ? "Sigmoid" : "Exp", from, to);
        snprintf(from, sizeof from, "%s", to);
    }
    expect_fused_y(&b, "Elementwise Exp");
}

static void test_fuse_elementwise__what_others_need_stays(void **state)
{
    (void)state;
    model_builder b = start("5, 4");
    builder_node(&b, "Exp", "x", "a");
    builder_node(&b, "Softmax", "a", "c");
    builder_node(&b, "Mul", "a c", "y");
    expect_fused_y(&b, "Exp Softmax Mul");
}

static void test_fuse_elementwise__a_result_that_is_repeated_stays(void **state)
{
    (void)state;
    model_builder b = start("5, 1");
    weights(&b, "w", "4", 4);
    builder_node(&b, "Exp", "x", "a");
    builder_node(&b, "Add", "a w", "y");
    expect_fused_y(&b, "Exp Add");
}

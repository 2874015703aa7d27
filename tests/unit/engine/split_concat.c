/* SPDX-License-Identifier: Apache-2.0 */
/* A Concat with more inputs than kernels take becomes several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "engine/passes/pass.h"
#include "harness/pass_case.h"

/* Joins `count` tensors: the input, and some that a node makes of it. */
static void run(size_t count, int64_t axis, const char *nodes)
{
    model_builder b = start("2, 3");
    str inputs = {0};
    builder_node(&b, "Relu", "x", "r");
    for (size_t i = 0; i < count; i++) str_append(&inputs, i % 3 ? "x " : "r ");
    pgy_onnx_node *n = builder_node(&b, "Concat", str_text(&inputs), "y");
    builder_attr_int(&b, n, "axis", axis);
    str_deinit(&inputs);
    expect_y(&b, nodes);
}

static void test_split_concat__parts_give_the_same(void **state)
{
    (void)state;
    run(32, 0, "Relu Concat");
    run(33, -1, "Relu Concat Concat");
    run(63, 0, "Relu Concat Concat");
    run(64, 0, "Relu Concat Concat Concat");
    run(100, -1, "Relu Concat Concat Concat Concat");
}

static void test_split_concat__refused_allocations_are_reported(void **state)
{
    (void)state;
    if (!refuse_allocations_of(&PASS_split_concat)) skip();
    run(40, 0, "Relu Concat Concat");
    refuse_allocations_of(NULL);
}

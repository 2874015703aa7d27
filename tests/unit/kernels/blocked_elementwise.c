/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operators and Concat on blocked tensors against the reference in double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/kernel_reference.h"

static const double TOLERANCE = 1e-6;
static const int64_t SHAPES[][4] = {{1, 16, 5, 7}, {2, 19, 3, 3}, {1, 3, 1, 1}, {3, 40, 2, 9}};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

static void finish(kernel_case *c)
{
    case_output_of_reference(c);
    assert_true(case_run_layout(c, KERNEL_BLOCKED_8, TOLERANCE) > 0);
    case_run_layout(c, KERNEL_BLOCKED_16, TOLERANCE);
    case_end(c);
}

static void test_blocked_elementwise__one_operand(void **state)
{
    (void)state;
    static const char *const OPS[] = {"Relu",      "LeakyRelu", "HardSigmoid",
                                      "HardSwish", "Sigmoid",   "Tanh"};
    for (size_t i = 0; i < 6 * SHAPE_COUNT; i++) {
        kernel_case c;
        case_start(&c, "", OPS[i / SHAPE_COUNT], 22);
        case_input(&c, false, 4, SHAPES[i % SHAPE_COUNT]);
        for (size_t k = 0; k < case_count(&c.problem.inputs[0]); k++) c.inputs[0][k] *= 5;
        finish(&c);
    }
}

static void test_blocked_elementwise__clip(void **state)
{
    (void)state;
    for (int i = 0; i < 3 * SHAPE_COUNT; i++) {
        kernel_case c;
        case_start(&c, "", "Clip", 13);
        case_input(&c, false, 4, SHAPES[i % SHAPE_COUNT]);
        case_input(&c, true, i / SHAPE_COUNT == 1 ? -1 : 0, NULL);
        if (c.inputs[1]) c.inputs[1][0] = i / SHAPE_COUNT ? 0.25f : -0.5f;
        case_input(&c, true, 0, NULL);
        c.inputs[2][0] = 0.5f;
        finish(&c);
    }
}

static const char *const BINARY[] = {"Add", "Sub", "Mul", "Div"};

static void test_blocked_elementwise__two_operands(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4 * SHAPE_COUNT; i++) {
        kernel_case c;
        case_start(&c, "", BINARY[i / SHAPE_COUNT], 14);
        case_input(&c, false, 4, SHAPES[i % SHAPE_COUNT]);
        case_input(&c, false, 4, SHAPES[i % SHAPE_COUNT]);
        for (size_t k = 0; k < case_count(&c.problem.inputs[1]); k++)
            c.inputs[1][k] += c.inputs[1][k] < 0 ? -1 : 1;
        finish(&c);
    }
}

static void test_blocked_elementwise__one_number_for_each_channel(void **state)
{
    (void)state;
    for (size_t i = 0; i < 8 * SHAPE_COUNT; i++) {
        const int64_t *shape = SHAPES[i % SHAPE_COUNT];
        const int64_t gate[4] = {shape[0], shape[1], 1, 1};
        const size_t small = i / SHAPE_COUNT % 2;
        kernel_case c;
        case_start(&c, "", BINARY[i / SHAPE_COUNT / 2], 14);
        for (size_t k = 0; k < 2; k++) case_input(&c, false, 4, k == small ? gate : shape);
        for (size_t k = 0; k < case_count(&c.problem.inputs[1]); k++)
            c.inputs[1][k] += c.inputs[1][k] < 0 ? -1 : 1;
        finish(&c);
    }
}

static void test_blocked_elementwise__constants(void **state)
{
    (void)state;
    for (size_t i = 0; i < 8 * SHAPE_COUNT; i++) {
        const int64_t *shape = SHAPES[i % SHAPE_COUNT];
        const int64_t gate[3] = {shape[1], 1, 1};
        kernel_case c;
        case_start(&c, "", BINARY[i / SHAPE_COUNT / 2], 14);
        case_input(&c, false, 4, shape);
        case_input(&c, true, i / SHAPE_COUNT % 2 ? 3 : 0, gate);
        for (size_t k = 0; k < case_count(&c.problem.inputs[1]); k++)
            c.inputs[1][k] += c.inputs[1][k] < 0 ? -1 : 1;
        finish(&c);
    }
}

static void test_blocked_elementwise__batch_normalization(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        kernel_case c;
        case_start(&c, "", "BatchNormalization", 15);
        case_input(&c, false, 4, SHAPES[i]);
        for (int k = 0; k < 4; k++) case_input(&c, true, 1, &SHAPES[i][1]);
        for (int64_t k = 0; k < SHAPES[i][1]; k++) c.inputs[4][k] += 1.5f;
        finish(&c);
    }
}

/* Depthwise convolutions of single pixels, with and without bias and Relu. */
static void test_blocked_elementwise__scale_of_each_channel(void **state)
{
    (void)state;
    static const int64_t KERNEL[2] = {1, 1};
    for (size_t i = 0; i < 4 * SHAPE_COUNT; i++) {
        const int64_t *shape = SHAPES[i % SHAPE_COUNT], kind = (int64_t)(i / SHAPE_COUNT);
        kernel_case c;
        case_start(&c, kind % 2 ? "com.microsoft" : "", kind % 2 ? "FusedConv" : "Conv",
                   kind % 2 ? 1 : 17);
        case_attr_int(&c, "group", shape[1]);
        case_attr_ints(&c, "kernel_shape", KERNEL, 2);
        if (kind % 2) case_attr_text(&c, "activation", "Relu");
        case_input(&c, false, 4, shape);
        case_input(&c, true, 4, (const int64_t[]){shape[1], 1, 1, 1});
        if (kind < 2) case_input(&c, true, 1, &shape[1]);
        finish(&c);
    }
}

static void test_blocked_elementwise__concat(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        kernel_case c;
        static const int64_t CHANNELS[][3] = {{16, 32, 16}, {48, 16, 5}, {16, 16, 1}};
        case_start(&c, "", "Concat", 13);
        case_attr_int(&c, "axis", i ? 1 : -3);
        for (size_t k = 0; k < 3; k++)
            case_input(&c, false, 4, (const int64_t[]){1 + (int64_t)i, CHANNELS[i][k], 3, 5});
        finish(&c);
    }
}

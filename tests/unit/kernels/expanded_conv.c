/* SPDX-License-Identifier: Apache-2.0 */
/* ExpandedConv of pgy against its definition, as bands and as two convolutions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "harness/kernel_reference.h"
#include "harness/reference_case.h"

static const double TOLERANCE = 2e-6;

typedef struct expanded_case {
    int64_t batch, in, expanded, height, width; /* height 0: one spatial axis */
    int64_t kernel[2], stride[2], dilation[2], pads[4];
    const char *inner, *last; /* activations */
    bool bias, deep_bias;
} expanded_case;

static void add_window(kernel_case *c, const expanded_case *t, size_t first)
{
    static int64_t lists[4][4];
    const size_t rank = 2 - first;
    for (size_t d = 0; d < rank; d++) {
        lists[0][d] = t->stride[0] ? t->stride[first + d] : 1;
        lists[1][d] = t->dilation[0] ? t->dilation[first + d] : 1;
        lists[2][d] = t->pads[first + d];
        lists[2][rank + d] = t->pads[2 + first + d];
    }
    case_attr_ints(c, "strides", lists[0], rank);
    case_attr_ints(c, "dilations", lists[1], rank);
    case_attr_ints(c, "pads", lists[2], 2 * rank);
}

static void start_case(kernel_case *c, const expanded_case *t)
{
    const size_t first = t->height ? 0 : 1; /* of the spatial axes */
    const int32_t rank = t->height ? 4 : 3;
    const int64_t x[4] = {t->batch, t->in, t->height ? t->height : t->width, t->width};
    const int64_t w[4] = {t->expanded, t->in, 1, 1};
    const int64_t v[4] = {t->expanded, 1, t->kernel[first], t->kernel[1]};
    case_start(c, "pgy", "ExpandedConv", 1);
    case_attr_int(c, "group", t->expanded);
    add_window(c, t, first);
    if (t->inner) case_attr_text(c, "inner_activation", t->inner);
    if (t->last) case_attr_text(c, "activation", t->last);
    case_input(c, false, rank, x);
    case_input(c, true, rank, w);
    case_input(c, true, rank, v);
    if (t->bias || t->deep_bias) case_input(c, true, t->bias ? 1 : -1, &t->expanded);
    if (t->deep_bias) case_input(c, true, 1, &t->expanded);
}

static void run_case(const expanded_case *t)
{
    kernel_case c;
    start_case(&c, t);
    case_output_of_reference(&c);
    /* Sums of magnitude 10 become values of magnitude 1. */
    const bool narrows = t->last && strstr("Sigmoid HardSigmoid Tanh", t->last);
    assert_true(case_run_layouts(&c, narrows ? 10 * TOLERANCE : TOLERANCE) > 1);
    case_end(&c);
}

static void test_expanded_conv__channels_and_widths(void **state)
{
    (void)state;
    static const int64_t CHANNELS[] = {2, 7, 8, 15, 16, 17, 33, 48};
    static const int64_t WIDTHS[] = {1, 2, 5, 7, 13, 14, 15, 30};
    for (size_t i = 0; i < 8; i++)
        for (size_t k = 0; k < 8; k++)
            run_case(&(expanded_case){.batch = 1 + (int64_t)(k % 2),
                                      .in = CHANNELS[(i + k) % 8],
                                      .expanded = CHANNELS[i],
                                      .height = 1 + (int64_t)((i + 2 * k) % 6),
                                      .width = WIDTHS[k],
                                      .kernel = {3, 3},
                                      .stride = {1 + (int64_t)(i % 2), 1 + (int64_t)(i % 2)},
                                      .pads = {1, 1, 1, 1},
                                      .inner = i % 3 ? "Relu" : NULL,
                                      .last = k % 3 ? "HardSwish" : NULL,
                                      .bias = k % 2,
                                      .deep_bias = i % 3});
}

static void test_expanded_conv__windows(void **state)
{
    (void)state;
    static const expanded_case CASES[] = {
        {1, 5, 20, 9, 17, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}, "Relu", NULL, true, true},
        {2, 8, 16, 9, 17, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}, "Relu", "Relu", true, true},
        {1, 3, 40, 11, 9, {3, 3}, {1, 1}, {2, 3}, {2, 3, 1, 0}, "Relu", NULL, true, false},
        {1, 3, 18, 8, 8, {3, 5}, {2, 1}, {1, 1}, {0, 0, 1, 2}, "Relu", NULL, false, true},
        {1, 4, 17, 6, 7, {2, 2}, {3, 3}, {1, 1}, {0, 0, 0, 0}, "Relu", NULL, false, false},
        {1, 4, 17, 6, 7, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, NULL, "Relu", false, false},
        /* Strides that leave rows and columns out. */
        {1, 4, 33, 15, 19, {2, 1}, {4, 5}, {1, 1}, {1, 0, 1, 0}, "Relu", NULL, true, true},
        /* More padding than image, and rows of padding alone. */
        {1, 6, 19, 5, 4, {3, 3}, {1, 1}, {1, 1}, {9, 5, 7, 8}, "Sigmoid", NULL, true, true},
        {1, 6, 19, 3, 2, {7, 7}, {2, 2}, {1, 1}, {6, 6, 6, 6}, "Relu", "Relu", true, true},
        /* One spatial axis. */
        {2, 6, 21, 0, 40, {1, 5}, {1, 2}, {1, 1}, {0, 2, 0, 2}, "Silu", "Silu", true, true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) run_case(&CASES[i]);
}

/* Bands of rows follow each other, and keep the rows that two of them read. */
static void test_expanded_conv__several_bands(void **state)
{
    (void)state;
    static const expanded_case CASES[] = {
        {1, 6, 20, 150, 40, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, "Relu", "Relu", true, true},
        {2, 5, 9, 171, 41, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, "Silu", NULL, true, true},
        {1, 3, 33, 160, 33, {5, 5}, {1, 1}, {2, 1}, {4, 2, 4, 2}, "HardSwish", NULL, true, false},
        {1, 3, 16, 190, 33, {1, 3}, {3, 1}, {1, 1}, {0, 1, 0, 1}, NULL, NULL, true, false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) run_case(&CASES[i]);
}

/* Padding is 0, whatever the activation makes of 0. */
static void test_expanded_conv__activations(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"Relu", "LeakyRelu", "HardSigmoid", "HardSwish",
                                        "Clip", "Sigmoid",   "Tanh",        "Silu",
                                        "Gelu", "FastGelu"};
    for (size_t i = 0; i < 10; i++)
        for (size_t k = 0; k < 3; k++)
            run_case(&(expanded_case){.batch = 1,
                                      .in = 5,
                                      .expanded = 20,
                                      .height = 6,
                                      .width = 15,
                                      .kernel = {3, 3},
                                      .pads = {1, 1, 1, 1},
                                      .inner = NAMES[i],
                                      .last = NAMES[(i + 3 * k) % 10],
                                      .bias = true,
                                      .deep_bias = true});
}

/* What the kernels leave to the definition: groups of several channels, weights known late. */
static void test_expanded_conv__other_problems_have_no_kernel(void **state)
{
    (void)state;
    for (int late = 0; late < 3; late++) {
        kernel_case c;
        const int64_t groups = late ? 8 : 4;
        case_start(&c, "pgy", "ExpandedConv", 1);
        case_attr_int(&c, "group", groups);
        case_input(&c, false, 4, (const int64_t[]){1, 4, 6, 6});
        case_input(&c, late != 1, 4, (const int64_t[]){8, 4, 1, 1});
        case_input(&c, late != 2, 4, (const int64_t[]){8, 8 / groups, 3, 3});
        case_output_of_reference(&c);
        assert_int_equal(case_run_layouts(&c, TOLERANCE), 0);
        case_end(&c);
    }
}

static void test_expanded_conv__half_types(void **state)
{
    (void)state;
    static const pgy_dtype TYPES[] = {PGY_F16, PGY_BF16};
    static const kernel_layout LAYOUTS[] = {KERNEL_BLOCKED_8, KERNEL_BLOCKED_16};
    static const int64_t PADS[4] = {1, 1, 1, 1};
    for (size_t i = 0; i < 4; i++) {
        reference_case c;
        reference_start(&c, "pgy", "ExpandedConv", 1);
        reference_attr_int(&c, "group", 20);
        reference_attr_ints(&c, "pads", PADS, 4);
        reference_attr_text(&c, "inner_activation", "Silu");
        reference_input(&c, TYPES[i / 2], "1 6 9 15");
        reference_input(&c, TYPES[i / 2], "20 6 1 1");
        reference_constant(&c);
        reference_input(&c, TYPES[i / 2], "20 1 3 3");
        reference_constant(&c);
        assert_true(reference_run_layout(&c, 1, LAYOUTS[i % 2], i < 2 ? 2e-3 : 1.6e-2) > 1);
    }
}

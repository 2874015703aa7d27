/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolutions in float32 of all variants against the reference in double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/kernel_reference.h"

static const double TOLERANCE = 2e-6;

typedef struct transpose_case {
    int64_t rank, x[5], w[5], group, stride[3], dilation[3], pads[6], output_padding[3];
    bool bias;
} transpose_case;

static void test_conv_transpose__agrees_with_the_reference(void **state)
{
    (void)state;
    static const transpose_case CASES[] = {
        {4, {1, 8, 5, 7}, {8, 6, 2, 2}, 1, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0, 0}, true},
        {4, {2, 6, 6, 9}, {6, 5, 4, 4}, 2, {2, 2}, {1, 1}, {1, 1, 1, 1}, {0, 0}, false},
        {4, {1, 3, 4, 5}, {3, 4, 3, 3}, 1, {3, 2}, {2, 1}, {1, 0, 2, 1}, {1, 1}, true},
        {4, {2, 12, 9, 17}, {12, 11, 2, 2}, 2, {2, 2}, {1, 1}, {0, 0, 0, 0}, {1, 1}, true},
        {4, {1, 9, 6, 11}, {9, 1, 4, 4}, 9, {2, 2}, {1, 1}, {1, 1, 1, 1}, {0, 0}, true},
        {4, {1, 5, 8, 9}, {5, 6, 3, 3}, 1, {1, 1}, {1, 2}, {1, 2, 0, 1}, {0, 0}, false},
        {3, {1, 4, 15}, {4, 3, 7}, 1, {8}, {3}, {4, 9}, {6}, true},
        {3, {2, 5, 40}, {5, 7, 5}, 1, {2}, {1}, {3, 1}, {0}, true},
        {5,
         {1, 4, 2, 3, 4},
         {4, 3, 2, 3, 2},
         1,
         {2, 1, 2},
         {1, 1, 1},
         {0, 1, 0, 0, 1, 0},
         {0, 0, 0},
         true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const transpose_case *t = &CASES[i];
        const size_t axes = (size_t)t->rank - 2;
        const int64_t channels[1] = {t->w[1] * t->group};
        kernel_case c;
        case_start(&c, "", "ConvTranspose", 22);
        case_attr_int(&c, "group", t->group);
        case_attr_ints(&c, "strides", t->stride, axes);
        case_attr_ints(&c, "dilations", t->dilation, axes);
        case_attr_ints(&c, "pads", t->pads, 2 * axes);
        case_attr_ints(&c, "output_padding", t->output_padding, axes);
        case_input(&c, false, (int32_t)t->rank, t->x);
        case_input(&c, true, (int32_t)t->rank, t->w);
        case_input(&c, false, t->bias ? 1 : -1, channels);
        case_output_of_reference(&c);
        assert_true(case_run(&c, TOLERANCE) > 0);
        case_end(&c);
    }
}

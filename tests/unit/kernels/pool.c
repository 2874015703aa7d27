/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of all variants against the reference in double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/kernel_reference.h"

static const double TOLERANCE = 1e-6;

typedef struct pool_case {
    int64_t rank, shape[5], window[3], stride[3], dilation[3], pads[6];
    int64_t ceil, count_padding;
} pool_case;

static void run_case(const char *op, const pool_case *t)
{
    kernel_case c;
    const size_t axes = (size_t)t->rank - 2;
    case_start(&c, "", op, 22);
    case_attr_ints(&c, "kernel_shape", t->window, axes);
    case_attr_ints(&c, "strides", t->stride, axes);
    case_attr_ints(&c, "dilations", t->dilation, axes);
    case_attr_ints(&c, "pads", t->pads, 2 * axes);
    case_attr_int(&c, "ceil_mode", t->ceil);
    if (op[0] == 'A') case_attr_int(&c, "count_include_pad", t->count_padding);
    case_input(&c, false, (int32_t)t->rank, t->shape);
    case_output_of_reference(&c);
    assert_true(case_run_layouts(&c, TOLERANCE) > 0);
    case_end(&c);
}

static void test_pool__windows(void **state)
{
    (void)state;
    static const pool_case CASES[] = {
        {4, {1, 16, 12, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, 0, 0},
        {4, {2, 19, 7, 7}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, 1, 0},
        {4, {1, 5, 9, 8}, {3, 2}, {1, 3}, {2, 1}, {2, 0, 1, 1}, 1, 1},
        {4, {1, 33, 1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, 0, 1},
        {3, {2, 17, 21}, {5}, {2}, {1}, {2, 2}, 0, 1},
        {5, {1, 9, 4, 5, 6}, {2, 3, 2}, {1, 2, 2}, {1, 1, 1}, {1, 1, 0, 0, 1, 1}, 0, 1},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        run_case("MaxPool", &CASES[i]);
        run_case("AveragePool", &CASES[i]);
    }
}

static void test_pool__global_ones(void **state)
{
    (void)state;
    static const char *const OPS[] = {"GlobalMaxPool", "GlobalAveragePool"};
    static const int64_t SHAPES[][4] = {{1, 16, 7, 7}, {2, 21, 5, 3}, {1, 3, 1, 1}, {1, 64, 8, 9}};
    for (size_t i = 0; i < 8; i++) {
        kernel_case c;
        case_start(&c, "", OPS[i % 2], 22);
        case_input(&c, false, 4, SHAPES[i / 2]);
        case_output_of_reference(&c);
        assert_true(case_run_layouts(&c, TOLERANCE) > 0);
        case_end(&c);
    }
}

/* The blocked kernels do ReduceMean over all spatial axes, those of reduce.c any. */
static void test_pool__means_over_all_spatial_axes(void **state)
{
    (void)state;
    static const int64_t SHAPES[][4] = {{1, 16, 7, 7}, {2, 21, 5, 3}, {1, 64, 8, 9}, {3, 8, 1, 2}};
    static const int64_t AXES[][2] = {{2, 3}, {-1, -2}};
    for (size_t i = 0; i < 16; i++) {
        kernel_case c;
        case_start(&c, "", "ReduceMean", 13);
        case_attr_ints(&c, "axes", AXES[i % 2], 2);
        case_attr_int(&c, "keepdims", i / 8);
        case_input(&c, false, 4, SHAPES[i / 2 % 4]);
        case_output_of_reference(&c);
        assert_true(case_run_layouts(&c, TOLERANCE) > 1);
        case_end(&c);
    }
}

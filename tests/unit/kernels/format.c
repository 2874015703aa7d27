/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "kernels/kernel.h"

static void test_format__built_in(void **state)
{
    (void)state;
    kernel_layout found;
    assert_int_equal(kernel_block(KERNEL_LINEAR), 1);
    assert_int_equal(kernel_block(KERNEL_BLOCKED_8), 8);
    assert_int_equal(kernel_block(KERNEL_BLOCKED_16), 16);
    assert_int_equal(kernel_block(KERNEL_CHANNELS_LAST), 1);
    assert_int_equal(kernel_lanes(KERNEL_CHANNELS_LAST, 5), 5);
    assert_true(kernel_layout_of_block(&found, 8));
    assert_int_equal(found, KERNEL_BLOCKED_8);
    assert_false(kernel_layout_of_block(&found, 2));
    assert_false(kernel_layout_of_block(&found, UINT64_C(1) << 32 | 8));
}

static void test_format__offered(void **state)
{
    (void)state;
    static const uint32_t BAD[] = {0, 1, 3, 12, 512, UINT32_MAX};
    static const uint32_t GOOD[] = {2, 4, 32, 64};
    kernel_layout made, again;
    pgy_error err = {0};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        assert_int_equal(kernel_offer_format(&made, BAD[i], &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "power of two"));
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
        assert_int_equal(kernel_offer_format(&made, GOOD[i], &err), PGY_OK);
        assert_int_equal(made, KERNEL_CHANNELS_LAST + 1 + i);
        assert_int_equal(kernel_offer_format(&again, GOOD[i], &err), PGY_OK);
        assert_int_equal(made, again);
    }
    assert_int_equal(kernel_format_count(), KERNEL_MAX_FORMATS);
    assert_int_equal(kernel_offer_format(&made, 256, &err), PGY_E_UNSUPPORTED);
}

/* Every format that is offered can be reordered from and to linear. */
static void test_format__reorders(void **state)
{
    (void)state;
    static const int64_t SHAPE[] = {2, 5, 3};
    const kernel *reorder = kernel_find("reorder", 1);
    assert_non_null(reorder);
    for (size_t f = 1; f < kernel_format_count(); f++) {
        const size_t block = kernel_lanes((kernel_layout)f, 5);
        float x[30], blocked[2 * 128 * 3], back[30];
        op_node node = {.name = "r"};
        for (size_t i = 0; i < 30; i++) x[i] = (float)i + 1;
        for (int to = 1; to >= 0; to--) {
            kernel_problem u = {.node = &node, .input_count = 1, .output_count = 1};
            u.inputs[0] = u.outputs[0] =
                (kernel_tensor){.dtype = PGY_F32, .rank = 3, .shape = SHAPE};
            *(to ? &u.outputs[0].layout : &u.inputs[0].layout) = (kernel_layout)f;
            double cost;
            kernel_plan plan = {0};
            assert_true(kernel_accept(reorder, &u, &cost));
            assert_int_equal(reorder->prepare(&plan, &u, NULL), PGY_OK);
            void *tensors[] = {to ? x : blocked, to ? blocked : back};
            kernel_run_alone(reorder, &plan, tensors, plan.parts);
            kernel_plan_deinit(&plan);
        }
        assert_memory_equal(x, back, sizeof x);
        const size_t last = 4; /* the lane of the last channel, at the first place */
        assert_true(blocked[last / block * block * 3 + last % block] == x[last * 3]);
        if (block > 5) assert_true(blocked[5] == 0);
    }
}

/* One block of channels of a long tensor is moved in stretches, however many parts there are. */
static void test_format__reorders_in_stretches(void **state)
{
    (void)state;
    enum { CHANNELS = 5, PIXELS = 1100, BLOCK = 16 };
    static const int64_t SHAPE[] = {1, CHANNELS, PIXELS};
    static const uint32_t PARTS[] = {1, 2, 3, 4};
    const kernel *reorder = kernel_find("reorder", 1);
    float x[CHANNELS * PIXELS], blocked[BLOCK * PIXELS], back[CHANNELS * PIXELS];
    op_node node = {.name = "r"};
    for (size_t i = 0; i < CHANNELS * PIXELS; i++) x[i] = (float)i;
    for (size_t i = 0; i < 2 * sizeof PARTS / sizeof *PARTS; i++) {
        const bool to = i % 2 == 0;
        kernel_problem u = {.node = &node, .input_count = 1, .output_count = 1};
        u.inputs[0] = u.outputs[0] = (kernel_tensor){.dtype = PGY_F32, .rank = 3, .shape = SHAPE};
        *(to ? &u.outputs[0].layout : &u.inputs[0].layout) = KERNEL_BLOCKED_16;
        double cost;
        kernel_plan plan = {0};
        assert_true(kernel_accept(reorder, &u, &cost));
        assert_int_equal(reorder->prepare(&plan, &u, NULL), PGY_OK);
        assert_true(plan.parts >= PARTS[i / 2]);
        if (to) memset(blocked, 1, sizeof blocked);
        void *tensors[] = {to ? x : blocked, to ? blocked : back};
        kernel_run_alone(reorder, &plan, tensors, PARTS[i / 2]);
        kernel_plan_deinit(&plan);
        if (!to) assert_memory_equal(x, back, sizeof x);
        for (size_t k = 0; to && k < BLOCK * PIXELS; k++)
            assert_true(blocked[k] ==
                        (k % BLOCK < CHANNELS ? x[k % BLOCK * PIXELS + k / BLOCK] : 0));
    }
}

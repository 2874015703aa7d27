/* SPDX-License-Identifier: Apache-2.0 */
/* Concat and Split, against the reference definitions. */
#include <cmocka.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/reference_case.h"

static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_BOOL, PGY_F16};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

static void test_concat__concat_and_split(void **state)
{
    (void)state;
    static const char *const PIECES[][3] = {
        {"2 3 4", "5 3 4", "1 3 4"}, {"2 3 4", "2 0 4", "2 60 4"}, {"2 3 4", "2 3 1", "2 3 1000"}};
    for (int axis = -3; axis < 3; axis++)
        for (size_t t = 0; t < TYPE_COUNT; t++) {
            reference_case c;
            reference_start(&c, "", "Concat", 13);
            reference_attr_int(&c, "axis", axis);
            for (int k = 0; k < 3; k++) reference_input(&c, TYPES[t], PIECES[(axis + 3) % 3][k]);
            assert_true(reference_run(&c, 1, 0) > 0);
            reference_start(&c, "", "Split", 18);
            reference_attr_int(&c, "axis", axis);
            reference_input(&c, TYPES[t], "6 6 600");
            reference_ints(
                &c, (axis + 3) % 3 == 2 ? (const int64_t[]){1, 590, 9} : (const int64_t[]){2, 0, 4},
                3);
            assert_true(reference_run(&c, 3, 0) > 0);
        }
}

/* Pieces of 1 to 96 bytes, in more rows than are copied at once. */
static void test_concat__short_rows(void **state)
{
    (void)state;
    static const int64_t SIZES[][4] = {{1, 2, 4, 8}, {16, 3, 0, 5}, {32, 64, 1, 1}, {1, 1, 1, 1}};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
        for (size_t t = 0; t < TYPE_COUNT; t++) {
            char shape[32];
            int64_t all = 0;
            reference_case c;
            reference_start(&c, "", "Concat", 13);
            reference_attr_int(&c, "axis", 1);
            for (int k = 0; k < 4; k++) {
                snprintf(shape, sizeof shape, "203 %d", (int)SIZES[i][k]);
                reference_input(&c, TYPES[t], shape);
                all += SIZES[i][k];
            }
            assert_true(reference_run(&c, 1, 0) > 0);
            reference_start(&c, "", "Split", 18);
            reference_attr_int(&c, "axis", 1);
            snprintf(shape, sizeof shape, "203 %d", (int)all);
            reference_input(&c, TYPES[t], shape);
            reference_ints(&c, SIZES[i], 4);
            assert_true(reference_run(&c, 4, 0) > 0);
        }
}

static void test_concat__many_pieces(void **state)
{
    (void)state;
    int64_t sizes[KERNEL_MAX_OUTPUTS];
    reference_case c;
    reference_start(&c, "", "Concat", 13);
    reference_attr_int(&c, "axis", 1);
    for (int k = 0; k < KERNEL_MAX_INPUTS; k++)
        reference_input(&c, PGY_F32, k % 3 ? "2 3 5" : "2 1 5");
    assert_true(reference_run(&c, 1, 0) > 0);
    reference_start(&c, "", "Split", 18);
    reference_attr_int(&c, "axis", 1);
    reference_input(&c, PGY_F32, "2 64 5");
    for (int k = 0; k < KERNEL_MAX_OUTPUTS; k++) sizes[k] = k % 2 ? 1 : 3;
    reference_ints(&c, sizes, KERNEL_MAX_OUTPUTS);
    assert_true(reference_run(&c, KERNEL_MAX_OUTPUTS, 0) > 0);
}

/* Split along the channels of blocked tensors, beside the kernel for linear ones: all pieces but
 * the last fill their blocks. */
static void test_concat__split_of_blocks(void **state)
{
    (void)state;
    static const int64_t SIZES[][3] = {{16, 32, 16}, {48, 16, 5}, {16, 8, 1}};
    static const char *const SHAPES[] = {"1 64 5 7", "2 69 3 200", "1 25 4 4"};
    for (size_t i = 0; i < 3; i++)
        for (int blocks = 0; blocks < 2; blocks++) {
            const kernel_layout layout = blocks ? KERNEL_BLOCKED_16 : KERNEL_BLOCKED_8;
            const bool fills = i < 2 || !blocks; /* 8 channels do not fill a block of 16 */
            reference_case c;
            reference_start(&c, "", "Split", 18);
            reference_attr_int(&c, "axis", i ? 1 : -3);
            reference_input(&c, PGY_F32, SHAPES[i]);
            reference_ints(&c, SIZES[i], 3);
            assert_int_equal(reference_run_layout(&c, 3, layout, 0), 1 + fills);
        }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that only move elements, against the reference definitions. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/reference_case.h"

static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_BOOL, PGY_F16};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

static void transpose(pgy_dtype dtype, const char *shape, const int64_t *perm, size_t rank)
{
    reference_case c;
    reference_start(&c, "", "Transpose", 13);
    if (perm) reference_attr_ints(&c, "perm", perm, rank);
    reference_input(&c, dtype, shape);
    assert_true(reference_run(&c, 1, 0) > 0);
}

static void test_moves__transpose(void **state)
{
    (void)state;
    static const int64_t PERMS[][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 2, 3, 1}, {3, 1, 2, 0},
                                       {1, 0, 3, 2}, {3, 2, 1, 0}, {0, 1, 3, 2}, {2, 3, 0, 1}};
    static const char *const SHAPES[] = {"2 3 4 5", "1 17 33 16", "2 40 3 64", "3 1 50 1",
                                         "2 0 3 4"};
    for (size_t s = 0; s < 5; s++)
        for (size_t i = 0; i < 8; i++)
            for (size_t t = 0; t < TYPE_COUNT; t++) transpose(TYPES[t], SHAPES[s], PERMS[i], 4);
    transpose(PGY_F32, "40 50", NULL, 0);
    transpose(PGY_F32, "7", NULL, 0);
    transpose(PGY_F32, "", NULL, 0);
}

static void slice(pgy_dtype dtype, const char *shape, size_t count, const int64_t *starts,
                  const int64_t *ends, const int64_t *axes, const int64_t *steps)
{
    reference_case c;
    reference_start(&c, "", "Slice", 13);
    reference_input(&c, dtype, shape);
    reference_ints(&c, starts, count);
    reference_ints(&c, ends, count);
    if (axes) reference_ints(&c, axes, count);
    if (steps) reference_ints(&c, steps, count);
    assert_true(reference_run(&c, 1, 0) > 0);
}

static void test_moves__slice(void **state)
{
    (void)state;
    for (size_t t = 0; t < TYPE_COUNT; t++) {
        const int64_t zero = 0, one = 1, two = 2, many = INT64_MAX, least = INT64_MIN, back = -1,
                      three = -3;
        slice(TYPES[t], "7 40", 1, &one, &many, NULL, NULL);
        slice(TYPES[t], "7 40", 1, &one, &many, &one, &two);
        slice(TYPES[t], "7 40", 1, &back, &least, &one, &back);
        slice(TYPES[t], "7 40", 1, &many, &least, &zero, &three);
        slice(TYPES[t], "7 40", 1, &three, &back, &back, &one);
        slice(TYPES[t], "7 40", 1, &two, &one, &zero, &one);
        slice(TYPES[t], "2 7 40 3", 2, (const int64_t[]){5, 30}, (const int64_t[]){1, 99},
              (const int64_t[]){1, 2}, (const int64_t[]){-2, 3});
    }
}

static void test_moves__expand_and_tile(void **state)
{
    (void)state;
    for (size_t t = 0; t < TYPE_COUNT; t++) {
        reference_case c;
        reference_start(&c, "", "Expand", 13);
        reference_input(&c, TYPES[t], "3 1 5");
        reference_ints(&c, (const int64_t[]){2, 3, 40, 1}, 4);
        assert_true(reference_run(&c, 1, 0) > 0);
        reference_start(&c, "", "Expand", 13);
        reference_input(&c, TYPES[t], "3 1");
        reference_ints(&c, (const int64_t[]){3, 70}, 2);
        assert_true(reference_run(&c, 1, 0) > 0);
        reference_start(&c, "", "Tile", 13);
        reference_input(&c, TYPES[t], "2 3 5");
        reference_ints(&c, (const int64_t[]){2, 1, 3}, 3);
        assert_true(reference_run(&c, 1, 0) > 0);
    }
}

static void test_moves__depth_and_space(void **state)
{
    (void)state;
    static const char *const MODES[] = {"DCR", "CRD"};
    for (int i = 0; i < 3; i++) {
        reference_case c;
        reference_start(&c, "", i < 2 ? "DepthToSpace" : "SpaceToDepth", 13);
        reference_attr_int(&c, "blocksize", 2);
        if (i < 2) reference_attr_text(&c, "mode", MODES[i]);
        reference_input(&c, PGY_F32, i < 2 ? "2 12 3 5" : "2 3 4 6");
        assert_true(reference_run(&c, 1, 0) > 0);
    }
}

static void test_moves__concat_and_split(void **state)
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

static void test_moves__many_pieces(void **state)
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

static void test_moves__gather(void **state)
{
    (void)state;
    for (int axis = -3; axis < 3; axis++)
        for (size_t t = 0; t < TYPE_COUNT; t++)
            for (int wide = 0; wide < 2; wide++) {
                reference_case c;
                reference_start(&c, "", "Gather", 13);
                reference_attr_int(&c, "axis", axis);
                reference_input(&c, TYPES[t], "10 11 12");
                reference_input(&c, wide ? PGY_I64 : PGY_I32, t % 2 ? "5 3" : "");
                if (t > 1) reference_constant(&c);
                assert_true(reference_run(&c, 1, 0) > 0);
            }
    reference_case c;
    reference_start(&c, "", "Gather", 13);
    reference_input(&c, PGY_F32, "300 768");
    reference_input(&c, PGY_I64, "2 60");
    assert_true(reference_run(&c, 1, 0) > 0);
}

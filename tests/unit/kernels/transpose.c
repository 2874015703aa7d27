/* SPDX-License-Identifier: Apache-2.0 */
/* Transpose, DepthToSpace and SpaceToDepth, against the reference definitions. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/kernel_reference.h"
#include "harness/reference_case.h"

static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_BOOL, PGY_F16, PGY_U8};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

static void transpose(pgy_dtype dtype, const char *shape, const int64_t *perm, size_t rank)
{
    reference_case c;
    reference_start(&c, "", "Transpose", 13);
    if (perm) reference_attr_ints(&c, "perm", perm, rank);
    reference_input(&c, dtype, shape);
    assert_true(reference_run(&c, 1, 0) > 0);
}

static void test_transpose__permutations(void **state)
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

static void test_transpose__depth_and_space(void **state)
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

/* Whole tiles of bytes, lines whose bytes lie two to four apart, and planes that become pixels. */
static void test_transpose__bytes(void **state)
{
    (void)state;
    static const char *const SHAPES[] = {"2 40 53 2",  "2 40 53 3",  "1 9 117 4", "1 5 6 5",
                                         "1 33 48 16", "2 17 16 64", "2 3 29 41", "1 3 2 3"};
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++) {
        transpose(PGY_U8, SHAPES[i], (const int64_t[]){0, 3, 1, 2}, 4);
        transpose(PGY_I8, SHAPES[i], (const int64_t[]){0, 2, 3, 1}, 4);
        transpose(PGY_U8, SHAPES[i], (const int64_t[]){3, 2, 1, 0}, 4);
    }
}

/* Between channels last and blocks of channels, with full and partial blocks. */
static void test_transpose__blocks(void **state)
{
    (void)state;
    static const int64_t LAST[] = {0, 2, 3, 1}, FIRST[] = {0, 3, 1, 2}, ROWS[] = {0, 2, 1};
    static const int64_t CHANNELS[] = {1, 7, 8, 16, 23, 48, 65};
    for (size_t i = 0; i < 7; i++)
        for (int kind = 0; kind < 3; kind++) {
            const int64_t n = CHANNELS[i];
            const int64_t *perm = kind == 0 ? LAST : kind == 1 ? FIRST : ROWS;
            const int64_t shapes[3][4] = {{2, n, 9, 13}, {2, 9, 13, n}, {1, n, 150}};
            kernel_case c;
            case_start(&c, "", "Transpose", 13);
            case_attr_ints(&c, "perm", perm, kind < 2 ? 4 : 3);
            case_input(&c, false, kind < 2 ? 4 : 3, shapes[kind]);
            case_output_of_reference(&c);
            assert_true(case_run_layouts(&c, 0) >= 3);
            case_end(&c);
        }
}

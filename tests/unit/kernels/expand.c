/* SPDX-License-Identifier: Apache-2.0 */
/* Expand and Tile, against the reference definitions. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/reference_case.h"

static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_BOOL, PGY_F16};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

static void test_expand__expand_and_tile(void **state)
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

/* Lines of a few bytes and of some hundred repeat in different ways. */
static void test_expand__tile_of_longer_lines(void **state)
{
    (void)state;
    for (size_t t = 0; t < TYPE_COUNT; t++)
        for (int64_t repeats = 2; repeats < 5; repeats++) {
            reference_case c;
            reference_start(&c, "", "Tile", 13);
            reference_input(&c, TYPES[t], "2 30 70");
            reference_ints(&c, (const int64_t[]){2, 3, repeats}, 3);
            assert_true(reference_run(&c, 1, 0) > 0);
            reference_start(&c, "", "Tile", 13);
            reference_input(&c, TYPES[t], "5 33");
            reference_ints(&c, (const int64_t[]){1, repeats}, 2);
            assert_true(reference_run(&c, 1, 0) > 0);
        }
}

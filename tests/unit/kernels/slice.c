/* SPDX-License-Identifier: Apache-2.0 */
/* Slice, against the reference definitions. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/reference_case.h"

static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_BOOL, PGY_F16};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

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

static void test_slice__bounds_and_steps(void **state)
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

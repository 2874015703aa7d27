/* SPDX-License-Identifier: Apache-2.0 */
/* Pad, against the reference definitions. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/reference_case.h"

static const pgy_dtype TYPES[] = {PGY_F32, PGY_I64, PGY_BOOL, PGY_F16};

static size_t pad(pgy_dtype dtype, const char *mode, const int64_t *pads, bool value,
                  const int64_t *axes)
{
    reference_case c;
    reference_start(&c, "", "Pad", 19);
    reference_attr_text(&c, "mode", mode);
    reference_input(&c, dtype, "3 1 9 20");
    reference_ints(&c, pads, axes ? 4 : 8);
    reference_input(&c, dtype, value ? "" : NULL);
    if (axes) reference_ints(&c, axes, 2);
    return reference_run(&c, 1, 0);
}

static void test_pad__modes(void **state)
{
    (void)state;
    static const char *const MODES[] = {"constant", "edge", "reflect", "wrap"};
    for (size_t t = 0; t < 4; t++)
        for (int m = 0; m < 4; m++)
            for (int value = 0; value < 2; value++) {
                assert_true(pad(TYPES[t], MODES[m], (const int64_t[]){0, 0, 2, 3, 1, 0, 1, 4},
                                value, NULL) > 0);
                assert_true(pad(TYPES[t], MODES[m], (const int64_t[]){1, 0, -2, 3, 0, 0, 1, -4},
                                value, NULL) > 0);
                assert_true(pad(TYPES[t], MODES[m], (const int64_t[]){3, 2, 0, 5}, value,
                                (const int64_t[]){-1, 2}) > 0);
            }
}

static void centred(pgy_dtype dtype, const int64_t *sizes, size_t count)
{
    static const int64_t axes[] = {2, 0, -3, 3};
    reference_case c;
    reference_start(&c, "", "CenterCropPad", 18);
    if (count < 4) reference_attr_ints(&c, "axes", axes, count);
    reference_input(&c, dtype, "2 3 10 11");
    reference_ints(&c, sizes, count);
    assert_true(reference_run(&c, 1, 0) > 0);
}

static void test_pad__center_crop_pad(void **state)
{
    (void)state;
    static const pgy_dtype MOVED[] = {PGY_F32, PGY_F16, PGY_U8, PGY_I64};
    for (size_t t = 0; t < 4; t++) {
        centred(MOVED[t], (const int64_t[]){2, 4, 7, 16}, 4);
        centred(MOVED[t], (const int64_t[]){1, 2, 10, 8}, 4);
        centred(MOVED[t], (const int64_t[]){15, 1}, 2);
        centred(MOVED[t], (const int64_t[]){10}, 1);
    }
}

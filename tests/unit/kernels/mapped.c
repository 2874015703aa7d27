/* SPDX-License-Identifier: Apache-2.0 */
/* Pad and nearest Resize, against the reference definitions. */
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

static void test_mapped__pad(void **state)
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

static void test_mapped__resize_nearest(void **state)
{
    (void)state;
    static const char *const COORDS[] = {"half_pixel", "pytorch_half_pixel", "asymmetric",
                                         "align_corners"};
    static const char *const ROUND[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    static const float SCALES[][2] = {{2, 2}, {1.5f, 0.7f}, {3, 1}, {0.5f, 0.1f}};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
            for (int s = 0; s < 4; s++) {
                reference_case c;
                reference_start(&c, "", "Resize", 19);
                reference_attr_text(&c, "coordinate_transformation_mode", COORDS[i]);
                reference_attr_text(&c, "nearest_mode", ROUND[k]);
                reference_input(&c, PGY_F32, "2 3 10 14");
                reference_input(&c, PGY_F32, NULL);
                float *scales = reference_input(&c, PGY_F32, "4");
                scales[0] = scales[1] = 1;
                scales[2] = SCALES[s][0];
                scales[3] = SCALES[s][1];
                reference_constant(&c);
                assert_true(reference_run(&c, 1, 0) > 0);
                reference_start(&c, "", "Resize", 19);
                reference_attr_text(&c, "coordinate_transformation_mode", COORDS[i]);
                reference_attr_text(&c, "nearest_mode", ROUND[k]);
                reference_input(&c, PGY_F32, "2 3 10 14");
                reference_input(&c, PGY_F32, NULL);
                reference_input(&c, PGY_F32, NULL);
                reference_ints(&c, (const int64_t[]){2, 3, 17 - 3 * s, 3 + 11 * s}, 4);
                assert_true(reference_run(&c, 1, 0) > 0);
            }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Linear and cubic Resize, against the reference definition. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "harness/reference_case.h"

static const char *const COORDS[] = {"half_pixel", "pytorch_half_pixel", "asymmetric",
                                     "align_corners", "half_pixel_symmetric"};

static void resize(const char *mode, const char *coords, const char *shape, const float *scales,
                   const int64_t *sizes, size_t rank, bool antialias, bool exclude)
{
    reference_case c;
    reference_start(&c, "", "Resize", 19);
    reference_attr_text(&c, "mode", mode);
    reference_attr_text(&c, "coordinate_transformation_mode", coords);
    if (antialias) reference_attr_int(&c, "antialias", 1);
    if (exclude) reference_attr_int(&c, "exclude_outside", 1);
    reference_input(&c, PGY_F32, shape);
    reference_input(&c, PGY_F32, NULL);
    float *given = reference_input(&c, PGY_F32, sizes ? NULL : rank == 4 ? "4" : "5");
    if (!sizes) memcpy(given, scales, rank * sizeof *given);
    if (!sizes) reference_constant(&c);
    if (sizes) reference_ints(&c, sizes, rank);
    assert_true(reference_run(&c, 1, 2e-6) > 0);
}

static void test_resample__linear_and_cubic(void **state)
{
    (void)state;
    static const float SCALES[][4] = {
        {1, 1, 2, 2}, {1, 1, 1.5f, 0.7f}, {1, 1, 3, 1}, {1, 2, 0.4f, 1}};
    static const int64_t SIZES[][4] = {{2, 3, 17, 3}, {2, 3, 5, 40}, {2, 3, 1, 1}, {2, 3, 10, 21}};
    for (int cubic = 0; cubic < 2; cubic++)
        for (int i = 0; i < 5; i++)
            for (int s = 0; s < 4; s++) {
                const char *mode = cubic ? "cubic" : "linear";
                resize(mode, COORDS[i], "2 3 10 14", SCALES[s], NULL, 4, false, false);
                resize(mode, COORDS[i], "2 3 10 14", NULL, SIZES[s], 4, false, cubic);
                resize(mode, COORDS[i], "2 3 10 14", NULL, SIZES[s], 4, true, false);
            }
    resize("linear", COORDS[0], "1 2 3 4 5", (const float[]){1, 1, 2, 2, 2}, NULL, 5, false, false);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Resize, against the reference definitions. */
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

static void test_resize__linear_and_cubic(void **state)
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

static void test_resize__nearest(void **state)
{
    (void)state;
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

/* Bytes of the whole range; `mode` linear or nearest. */
static void resize_bytes(const char *mode, const char *coords, pgy_dtype type, const char *shape,
                         const float *scales, const int64_t *sizes)
{
    reference_case c;
    reference_start(&c, "", "Resize", 19);
    reference_attr_text(&c, "mode", mode);
    reference_attr_text(&c, "coordinate_transformation_mode", coords);
    uint8_t *x = reference_input(&c, type, shape);
    for (size_t i = 0; i < pgy_tensor_count(c.inputs[0]); i++)
        x[i] = (uint8_t)(i * i * 89 + i * 31);
    reference_input(&c, PGY_F32, NULL);
    float *given = reference_input(&c, PGY_F32, sizes ? NULL : "4");
    if (!sizes) memcpy(given, scales, 4 * sizeof *given);
    if (!sizes) reference_constant(&c);
    if (sizes) reference_ints(&c, sizes, 4);
    assert_true(reference_run(&c, 1, 0) > 0);
}

static void test_resize__bytes(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        float scales[4];
    } CASES[] = {{"2 3 10 14", {1, 1, 2, 2}},   {"1 2 9 40", {1, 1, 1.5f, 0.7f}},
                 {"2 3 10 14", {1, 1, 3, 1}},   {"1 10 14 3", {1, 2, 0.4f, 1}},
                 {"2 6 5 37", {1, 2, 1.3f, 1}}, {"1 1 30 130", {1, 1, 0.5f, 0.5f}},
                 {"2 17 1 1", {1, 2.5f, 1, 1}}};
    static const int64_t SIZES[][4] = {{2, 3, 17, 3}, {2, 3, 5, 40}, {2, 3, 1, 1}, {2, 3, 10, 21}};
    for (int nearest = 0; nearest < 2; nearest++)
        for (int i = 0; i < 5 - nearest; i++)
            for (int type = 0; type < 2; type++) {
                const char *mode = nearest ? "nearest" : "linear";
                const pgy_dtype dtype = type ? PGY_I8 : PGY_U8;
                for (size_t s = 0; s < sizeof CASES / sizeof *CASES; s++)
                    resize_bytes(mode, COORDS[i], dtype, CASES[s].shape, CASES[s].scales, NULL);
                for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++)
                    resize_bytes(mode, COORDS[i], dtype, "2 3 10 14", NULL, SIZES[s]);
            }
}

static void test_resize__upsample(void **state)
{
    (void)state;
    static const float SCALES[][4] = {{1, 1, 2, 2}, {2, 1, 3, 1.5f}, {1, 1, 1, 1}, {1, 1, 2.5f, 2}};
    static const pgy_dtype TYPES[] = {PGY_F32, PGY_U8, PGY_F16, PGY_I64};
    for (size_t i = 0; i < 4; i++)
        for (size_t t = 0; t < 4; t++) {
            reference_case c;
            reference_start(&c, "", "Upsample", 9);
            reference_input(&c, TYPES[t], "2 3 5 7");
            memcpy(reference_input(&c, PGY_F32, "4"), SCALES[i], sizeof SCALES[i]);
            reference_constant(&c);
            assert_true(reference_run(&c, 1, 0) > 0);
        }
}

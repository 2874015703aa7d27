/* SPDX-License-Identifier: Apache-2.0 */
/* RoiAlign, MaxRoiPool and CropAndResize in float32 against the reference definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/reference_case.h"

enum { REGIONS = 9 };
static const double TOLERANCE = 2e-6;

static float between(float low, float high)
{
    return low + (high - low) * (float)rand() / (float)RAND_MAX;
}

/* Two corners around and beyond an image; the last regions are empty, inverted or no numbers. */
static void fill_region(float *at, float size, int i)
{
    for (int k = 0; k < 2; k++) {
        const float start = between(-0.3f * size, size);
        at[k] = start;
        at[k + 2] = start + between(0, 0.8f * size);
    }
    if (i == REGIONS - 1) at[2] = NAN;
    if (i == REGIONS - 2) at[3] = at[1];
    if (i == REGIONS - 3) at[0] = at[2] + 3;
    if (i == REGIONS - 4) at[1] = -1e20f;
}

static void add_image(reference_case *c, int batch, int channels, int height, int width)
{
    char shape[64];
    snprintf(shape, sizeof shape, "%d %d %d %d", batch, channels, height, width);
    float *x = reference_input(c, PGY_F32, shape);
    x[rand() % (batch * channels * height * width)] = INFINITY;
    x[rand() % (batch * channels * height * width)] = NAN;
}

static void align(int channels, int height, int width, int ratio, const char *mode, bool shifted,
                  int64_t opset)
{
    reference_case c;
    reference_start(&c, "", "RoiAlign", opset);
    reference_attr_text(&c, "mode", mode);
    if (opset >= 16)
        reference_attr_text(&c, "coordinate_transformation_mode",
                            shifted ? "half_pixel" : "output_half_pixel");
    reference_attr_int(&c, "sampling_ratio", ratio);
    reference_attr_int(&c, "output_height", 3);
    reference_attr_int(&c, "output_width", ratio == 1 ? 40 : 5);
    reference_attr_float(&c, "spatial_scale", 0.5f);
    add_image(&c, 2, channels, height, width);
    float *rois = reference_input(&c, PGY_F32, "9 4");
    int64_t *images = reference_input(&c, PGY_I64, "9");
    for (int i = 0; i < REGIONS; i++) {
        fill_region(rois + 4 * i, 2 * (float)width, i);
        images[i] = i % 2;
    }
    assert_true(reference_run(&c, 1, TOLERANCE) > 0);
}

static void test_roi__align(void **state)
{
    (void)state;
    static const int CHANNELS[] = {1, 16, 70};
    srand(1);
    for (int i = 0; i < 3; i++)
        for (int ratio = 0; ratio < 4; ratio++)
            for (int form = 0; form < 4; form++)
                align(CHANNELS[i], 7, 9, ratio, form & 1 ? "max" : "avg", form >> 1, 16);
    align(3, 20, 30, 2, "avg", false, 10);
    align(3, 1, 1, 0, "avg", true, 22);
    align(5, 1, 8, 6, "max", true, 22);
}

static void test_roi__pool(void **state)
{
    (void)state;
    srand(2);
    for (int i = 0; i < 20; i++) {
        reference_case c;
        const int height = 1 + rand() % 12, width = 1 + rand() % 12;
        reference_start(&c, "", "MaxRoiPool", 1);
        reference_attr_ints(&c, "pooled_shape", (const int64_t[]){1 + rand() % 9, 1 + rand() % 9},
                            2);
        reference_attr_float(&c, "spatial_scale", 0.25f);
        add_image(&c, 2, 1 + rand() % 40, height, width);
        float *rois = reference_input(&c, PGY_F32, "9 5");
        for (int k = 0; k < REGIONS; k++) {
            fill_region(rois + 5 * k + 1, 4 * (float)width, k);
            rois[5 * k] = (float)(k % 2);
        }
        assert_true(reference_run(&c, 1, TOLERANCE) > 0);
    }
}

static void test_roi__crop(void **state)
{
    (void)state;
    srand(3);
    for (int i = 0; i < 40; i++) {
        reference_case c;
        reference_start(&c, "com.microsoft", "CropAndResize", 1);
        reference_attr_text(&c, "mode", i % 2 ? "nearest" : "bilinear");
        reference_attr_float(&c, "extrapolation_value", 7.5f);
        add_image(&c, 2, 1 + rand() % 40, 1 + rand() % 12, 1 + rand() % 12);
        float *rois = reference_input(&c, PGY_F32, "9 4");
        int32_t *images = reference_input(&c, PGY_I32, "9");
        for (int k = 0; k < REGIONS; k++) {
            fill_region(rois + 4 * k, 1, k);
            images[k] = k % 2;
        }
        int32_t *size = reference_input(&c, PGY_I32, "2");
        size[0] = 1 + rand() % 12;
        size[1] = 1 + rand() % 12;
        reference_constant(&c);
        assert_true(reference_run(&c, 1, TOLERANCE) > 0);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* DeformConv in float32 against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/reference_case.h"

typedef struct deform {
    int batch, groups, offset_groups, in, out; /* in, out: channels of a group */
    int64_t image[2], window[2], stride[2], dilation[2], pads[4];
    bool bias, mask, special;
} deform;

static int64_t out_of(const deform *d, int axis)
{
    const int64_t room = d->image[axis] + d->pads[axis] + d->pads[axis + 2] -
                         d->dilation[axis] * (d->window[axis] - 1) - 1;
    return room < 0 ? 0 : room / d->stride[axis] + 1;
}

static float *add(reference_case *c, int64_t n, int64_t channels, int64_t height, int64_t width)
{
    char shape[96];
    snprintf(shape, sizeof shape, "%d %d %d %d", (int)n, (int)channels, (int)height, (int)width);
    return reference_input(c, PGY_F32, shape);
}

static bool run_case(const deform *d)
{
    const int64_t height = out_of(d, 0), width = out_of(d, 1), taps = d->window[0] * d->window[1];
    char bias[16];
    reference_case c;
    if (!height || !width) return false;
    reference_start(&c, "", "DeformConv", 19);
    reference_attr_ints(&c, "strides", d->stride, 2);
    reference_attr_ints(&c, "dilations", d->dilation, 2);
    reference_attr_ints(&c, "pads", d->pads, 4);
    reference_attr_int(&c, "group", d->groups);
    reference_attr_int(&c, "offset_group", d->offset_groups);
    float *x = add(&c, d->batch, d->groups * d->in, d->image[0], d->image[1]);
    if (d->special) x[d->image[1] / 2] = INFINITY;
    add(&c, d->groups * d->out, d->in, d->window[0], d->window[1]);
    reference_constant(&c);
    float *offsets = add(&c, d->batch, d->offset_groups * taps * 2, height, width);
    offsets[0] = NAN;
    offsets[1] = -1e30f;
    for (int i = 2; i < 2 * taps; i += 3) offsets[i] = floorf(offsets[i]);
    snprintf(bias, sizeof bias, "%d", d->groups * d->out);
    reference_input(&c, PGY_F32, d->bias ? bias : NULL);
    if (d->mask) add(&c, d->batch, d->offset_groups * taps, height, width);
    assert_true(reference_run(&c, 1, 4e-6) > 0);
    return true;
}

static void test_deform_conv__known_shapes(void **state)
{
    (void)state;
    run_case(&(deform){
        1, 1, 1, 16, 40, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, true, true, false});
    run_case(
        &(deform){2, 2, 3, 6, 5, {7, 7}, {3, 2}, {2, 1}, {1, 2}, {0, 2, 1, 0}, true, false, true});
    run_case(&(deform){1, 3, 2, 4, 1, {5, 30}, {1, 1}, {1, 1}, {1, 1}, {0}, false, true, true});
    run_case(&(deform){1, 1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0}, false, false, false});
}

static void test_deform_conv__random_shapes(void **state)
{
    (void)state;
    size_t ran = 0;
    srand(1);
    for (int i = 0; i < 60; i++) {
        const int groups = 1 + rand() % 3, offset_groups = 1 + rand() % 3;
        deform d = {.batch = 1 + rand() % 2,
                    .groups = groups,
                    .offset_groups = offset_groups,
                    .in = offset_groups * (1 + rand() % 7),
                    .out = 1 + rand() % 40,
                    .bias = rand() % 2,
                    .mask = rand() % 2};
        for (int a = 0; a < 2; a++) {
            d.image[a] = 1 + rand() % 10;
            d.window[a] = 1 + rand() % 3;
            d.stride[a] = 1 + rand() % 2;
            d.dilation[a] = 1 + rand() % 2;
            d.pads[a] = rand() % 3;
            d.pads[a + 2] = rand() % 3;
        }
        ran += run_case(&d);
    }
    assert_true(ran > 20);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Col2Im in float32 against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/reference_case.h"

enum { MOST_AXES = 3 };

typedef struct blocks {
    size_t axes;
    int64_t image[MOST_AXES], block[MOST_AXES], stride[MOST_AXES], dilation[MOST_AXES];
    int64_t pads[2 * MOST_AXES];
} blocks;

/* The number of places of the block along an axis; 0: it does not fit. */
static int64_t places_of(const blocks *b, size_t d)
{
    const int64_t room =
        b->image[d] + b->pads[d] + b->pads[d + b->axes] - b->dilation[d] * (b->block[d] - 1) - 1;
    return room < 0 ? 0 : room / b->stride[d] + 1;
}

/* False: no block fits the image. */
static bool run_case(const blocks *b, int64_t batch, int64_t channels)
{
    reference_case c;
    char shape[64];
    int64_t places = 1, taps = 1;
    for (size_t d = 0; d < b->axes; d++) {
        places *= places_of(b, d);
        taps *= b->block[d];
    }
    if (!places) return false;
    reference_start(&c, "", "Col2Im", 18);
    reference_attr_ints(&c, "strides", b->stride, b->axes);
    reference_attr_ints(&c, "dilations", b->dilation, b->axes);
    reference_attr_ints(&c, "pads", b->pads, 2 * b->axes);
    snprintf(shape, sizeof shape, "%d %d %d", (int)batch, (int)(channels * taps), (int)places);
    float *x = reference_input(&c, PGY_F32, shape);
    x[0] = INFINITY;
    x[batch * channels * taps * places - 1] = NAN;
    reference_ints(&c, b->image, b->axes);
    reference_ints(&c, b->block, b->axes);
    assert_true(reference_run(&c, 1, 1e-6) > 0);
    return true;
}

static void test_col2im__known_shapes(void **state)
{
    (void)state;
    run_case(&(blocks){2, {5, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}, 2, 3);
    run_case(&(blocks){2, {32, 33}, {4, 4}, {4, 4}, {1, 1}, {0}}, 1, 5);
    run_case(&(blocks){2, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0}}, 1, 1);
    run_case(&(blocks){1, {40}, {5}, {2}, {3}, {6, 2}}, 2, 2);
    run_case(&(blocks){3, {4, 5, 6}, {2, 3, 1}, {1, 2, 1}, {2, 1, 1}, {1, 0, 2, 0, 1, 3}}, 1, 2);
    /* Some taps never meet the image. */
    run_case(&(blocks){2, {2, 2}, {5, 5}, {1, 1}, {1, 1}, {4, 4, 4, 4}}, 1, 2);
}

static void test_col2im__random_shapes(void **state)
{
    (void)state;
    size_t ran = 0;
    srand(1);
    for (int i = 0; i < 200; i++) {
        blocks b = {.axes = 1 + (size_t)rand() % MOST_AXES};
        for (size_t d = 0; d < b.axes; d++) {
            b.image[d] = 1 + rand() % (b.axes == 1 ? 60 : 12);
            b.block[d] = 1 + rand() % 4;
            b.stride[d] = 1 + rand() % 3;
            b.dilation[d] = 1 + rand() % 3;
            b.pads[d] = rand() % 4;
            b.pads[d + b.axes] = rand() % 4;
        }
        ran += run_case(&b, 1 + rand() % 2, 1 + rand() % 3);
    }
    assert_true(ran > 100);
}

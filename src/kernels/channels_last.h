/* SPDX-License-Identifier: Apache-2.0 */
/* Images whose channels lie last, for operators that read few pixels in all channels: the weighted
 * sum of some pixels is then one of contiguous rows. One set of loops for each processor level. */
#ifndef KERNELS_CHANNELS_LAST_H
#define KERNELS_CHANNELS_LAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system.h"

/* A pixel's number and its weight. */
typedef struct channels_tap {
    size_t pixel;
    float weight;
} channels_tap;

typedef struct channels_loops {
    /* y[c] (+)= the sum over the taps of weight * x[pixel * stride + c], for c < n, in the order of
     * the taps. */
    void (*sum)(float *y, const float *x, size_t stride, size_t n, const channels_tap *taps,
                size_t count, bool accumulate);
    /* y[c] = the largest of y[c] and weight * x[pixel * stride + c]; NaN is left out. */
    void (*largest)(float *y, const float *x, size_t stride, size_t n, const channels_tap *taps,
                    size_t count);
    /* y[c] = a linear mixture of four rows, first across, then down. */
    void (*mix)(float *y, const float *const rows[4], size_t n, float across, float down);
} channels_loops;

const channels_loops *channels_loops_of(cpu_level level);

/* Pixels [from, to) of all images: y is [image][pixel][channel], x is [image][channel][pixel]. */
void channels_to_last(float *y, const float *x, size_t channels, size_t pixels, size_t from,
                      size_t to);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution of bytes whose channels are last: the sums of one output position are sums
 * over the pixels under the taps. */
#ifndef KERNELS_INT_CONV_LAST_DEPTHWISE_H
#define KERNELS_INT_CONV_LAST_DEPTHWISE_H

#include "kernels/int_conv.h"
#include "kernels/pixel_taps.h"

/* BLOCK: channels that AVX-512 computes together. Taps are counted in fours. */
enum { LAST_DEPTHWISE_TAPS = 64, LAST_DEPTHWISE_BLOCK = 64 };

typedef struct last_depthwise {
    int_conv c;
    pixel_window w;
    uint32_t blocked; /* weights are in blocks, in the order of the vectors of AVX-512 */
    uint64_t fours;   /* groups of four taps */
    uint64_t weights; /* bytes of all weights */
} last_depthwise;

/* A position: list has 4 * fours pixels. */
typedef struct last_position {
    const last_depthwise *p;
    const uint8_t *const *list;
    const uint8_t *weights;
    const int32_t *offsets;
    const double *scales;
    const float *factors;
    uint8_t *y;
    size_t channels; /* the first ones, to be computed */
} last_position;

typedef struct last_depthwise_functions {
    void (*run)(const last_position *a); /* NULL: there is none for the processor */
    /* The channels behind the last LAST_DEPTHWISE_BLOCK, at most half as many, of `a` and of a
     * second position with this list and output. */
    void (*pair)(const last_position *a, const uint8_t *const *list, uint8_t *y);
    /* Computes 2 * `count` neighbouring positions of an image with half of LAST_DEPTHWISE_BLOCK
     * channels, two positions in each vector. From one position to the next, the address of each
     * tap grows by the size of a pixel. */
    void (*row)(const last_position *a, size_t count);
    size_t least; /* the fewest channels that `run` can compute */
} last_depthwise_functions;

extern const last_depthwise_functions last_depthwise_avx2, last_depthwise_avx512,
    last_depthwise_vnni;

#endif

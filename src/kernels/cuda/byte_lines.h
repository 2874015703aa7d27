/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of bytes with few channels, which are last: a block brings the lines of the image
 * that its tile of pixels covers to shared memory (packed.cu). */
#ifndef KERNELS_CUDA_BYTE_LINES_H
#define KERNELS_CUDA_BYTE_LINES_H

#include "kernels/int_conv.h"

/* taps 0: the problem cannot be computed so. */
typedef struct byte_lines {
    uint32_t taps;        /* bytes of a row of a window, of which the last may have no weights */
    uint32_t lines, line; /* lines of a tile, and bytes of one */
    uint32_t bytes;       /* of all lines */
    uint32_t k;           /* of the product */
} byte_lines;

/* m: pixels of a tile. */
byte_lines byte_lines_of(const int_conv *c, uint32_t m);

#endif

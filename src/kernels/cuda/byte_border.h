/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of bytes whose zero point is not 0, where bytes from outside of the image count as 0
 * (boxed.cu): what is added to a sum depends on which taps of the window lie inside. Rows and
 * columns of Y whose windows have the same taps inside are of one kind; the packed data has the
 * kinds and, for each pair of kinds, what is added to the sums of each channel. */
#ifndef KERNELS_CUDA_BYTE_BORDER_H
#define KERNELS_CUDA_BYTE_BORDER_H

#include "kernels/int_conv.h"

enum { BYTE_BORDER_KINDS = 64 }; /* most of an axis */

typedef struct byte_border {
    uint32_t kinds[2];     /* of rows and columns */
    uint64_t pitch;        /* offsets of a pair of kinds */
    uint64_t at[2], table; /* byte offsets in the packed data: kinds of rows and columns, offsets */
    uint64_t bytes;        /* of all packed data */
} byte_border;

/* The number of kinds of axis 1 or 2; more than BYTE_BORDER_KINDS: there are too many. */
uint32_t byte_border_kinds(const int_conv *c, int axis);
/* before: bytes of the packed data in front of it. */
byte_border byte_border_of(const int_conv *c, uint64_t before);
/* Fills it. The packed weights, `pitch` bytes for each row, are there already. */
void byte_border_pack(char *packed, const int_conv *c, uint64_t before, uint64_t pitch,
                      uint32_t x_zero, bool direct, const kernel_problem *u);

#endif

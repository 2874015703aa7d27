/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of bytes whose channels are last: a pixel's channels lie side by side, four of them
 * are one step of the sum, and vectors hold output channels.
 *
 * X is read in place if no tap lies in the padding, its bytes are unsigned, and a group has a
 * multiple of four channels. Otherwise it is first copied with its padding, as unsigned bytes, the
 * channels of each group filled up to a multiple of four. Then each tap is one constant offset.
 * Instead of being filled up, the channels of one group may be joined with those of the row's other
 * taps. */
#ifndef KERNELS_INT_CONV_LAST_H
#define KERNELS_INT_CONV_LAST_H

#include "kernels/byte_loops.h"
#include "kernels/int_amx.h"
#include "kernels/int_conv.h"

enum {
    INT_CONV_LAST_PIECE = 64, /* positions of a line in one unit of work */
    INT_CONV_LAST_BLOCK = 4,  /* pieces that are computed for one panel after the other */
    /* Bytes of scratch memory for sums, before the bytes to which others are added. */
    INT_CONV_LAST_SUMS = 2 * INT_AMX_MOST_ROWS * INT_MAX_COLUMNS * (int)sizeof(int32_t)
};

typedef struct int_conv_last {
    int_conv c;
    uint32_t copies;
    uint64_t width[INT_CONV_AXES];   /* size of the image that taps read */
    uint64_t pixel;                  /* bytes of one of its pixels */
    uint64_t lines, line, per_slice; /* lines of output positions of an image and of a slice, and
                                        positions of a line */
    uint64_t pieces;                 /* of a line */
    uint64_t chunks;                 /* shares of the panels of output channels */
    uint32_t r_input;                /* index of bytes that are added to those of the convolution;
                                        0: absent */
    byte_binary sum;                 /* a: bytes of the convolution, b: the others */
} int_conv_last;

void int_conv_last_run(const kernel_run *r);

/* Bytes that one pixel of X, or of its copy, has for each group. */
static inline uint64_t int_conv_last_channels(const int_conv_last *p)
{
    return p->copies && !p->c.joined ? p->c.quads * INT_GROUP : p->c.in;
}

/* Bytes of one image that taps read. */
static inline uint64_t int_conv_last_image_bytes(const int_conv_last *p)
{
    return p->width[0] * p->width[1] * p->width[2] * p->pixel;
}

static inline uint64_t int_conv_last_piece_count(const int_conv_last *p)
{
    return p->c.batch * p->lines * p->pieces;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of bytes on CUDA devices: what byte_conv.c (problems, plans, launches) and
 * byte_conv_pack.c (packed weights and columns) share. */
#ifndef KERNELS_CUDA_BYTE_CONV_H
#define KERNELS_CUDA_BYTE_CONV_H

#include "kernels/cuda/byte_columns.h"
#include "kernels/cuda/byte_lines.h"
#include "kernels/int_conv.h"

/* Kernels of convolutions of bytes: a thread for each result, or products. */
typedef enum byte_conv_way { BYTE_CONV_EACH, BYTE_CONV_PACKED, BYTE_CONV_BOXED } byte_conv_way;

/* A convolution as plans store it. */
typedef struct byte_conv_params {
    int_conv c;
    packed_cut cut;
    uint32_t w_signed, x_zero; /* x_zero: the zero point of X as the byte that it is, if constant */
    uint32_t adds, unused;
    byte_binary sum; /* with adds: of a result and R */
} byte_conv_params;

static inline uint64_t byte_conv_m(const int_conv *c)
{
    return extent_mul(c->batch, int_conv_out_plane(c));
}

static inline uint64_t byte_conv_k(const int_conv *c)
{
    return extent_mul(c->in, c->taps);
}

static inline uint64_t byte_conv_channels(const int_conv *c)
{
    return c->groups * c->out;
}

/* Are channels of X no whole vectors? */
static inline bool byte_conv_is_odd(const int_conv *c)
{
    return !c->last || c->in % BYTE_CHUNK;
}

static inline byte_lines byte_conv_lines(const byte_conv_params *p)
{
    return byte_lines_of(&p->c, PACKED_TILE[p->cut.tile].m);
}

/* Are elements of X read one by one? */
static inline bool byte_conv_is_gathered(const byte_conv_params *p)
{
    return byte_conv_is_odd(&p->c) && !byte_conv_lines(p).taps;
}

/* k as it is packed. */
static inline uint64_t byte_conv_packed_k(const byte_conv_params *p)
{
    const byte_lines l = byte_conv_lines(p);
    return byte_conv_is_odd(&p->c) && l.taps ? l.k : byte_conv_k(&p->c);
}

/* Is padding read through a border of the packed data? */
bool byte_conv_is_mapped(const byte_conv_params *p, byte_conv_way w);
/* Bytes from one row of packed weights to the next. */
uint64_t byte_conv_pitch(const byte_conv_params *p);
/* Do results go from registers to whole vectors of Y? */
bool byte_conv_is_direct(const byte_conv_params *p, byte_conv_way w);
/* Rows of packed weights of a group. */
uint64_t byte_conv_rows(const byte_conv_params *p, byte_conv_way w);
byte_columns byte_conv_columns(const byte_conv_params *p, byte_conv_way w);
uint64_t byte_conv_packed_bytes(const byte_conv_params *p, byte_conv_way w);
/* Packs into byte_conv_packed_bytes of zeros. */
void byte_conv_pack(char *packed, const byte_conv_params *p, const kernel_problem *u,
                    byte_conv_way w);
/* The inputs that the packed data holds, as bits. */
uint32_t byte_conv_packed_inputs(const int_conv *c, byte_conv_way w);

#endif

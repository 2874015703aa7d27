/* SPDX-License-Identifier: Apache-2.0 */
/* What lies behind the packed weights of products of bytes: for each column what is added to a sum
 * of products, the scale of the sum, also in float32, and the zero point of the weights; and the
 * bytes that stand for what lies outside of an image. */
#ifndef KERNELS_CUDA_BYTE_COLUMNS_H
#define KERNELS_CUDA_BYTE_COLUMNS_H

#include "kernels/cuda/packed.h"
#include "kernels/int_tile.h"

typedef struct byte_columns {
    /* byte offsets in the packed data; least, most: scales in float32 that are too small and too
     * large */
    uint64_t scales, offsets, factors, least, most, zeros, outside;
    uint64_t bytes; /* of all packed data */
} byte_columns;

enum { BYTE_CHUNK = 16 }; /* bytes of one access; rows of weights are whole chunks */
enum { BYTE_GROUP = 64 }; /* columns whose rows of weights change places (byte_rows.cu) */

byte_columns byte_columns_of(uint64_t weight_bytes, uint64_t columns);
/* most: no sum with its offset is larger. */
void byte_columns_fill(void *packed, const byte_columns *at, uint64_t column, double scale,
                       int32_t offset, double most, int32_t zero);
/* Scales in float32 that are too small and too large for sums up to `most`. */
void byte_columns_bound(float *less, float *more, double scale, double most);
/* Sets the pointers and limits of a call. */
void byte_columns_place(packed_call *c, const byte_columns *at, const void *packed,
                        const int_finish *f);
/* Rows of the packed weights. */
static inline uint64_t byte_columns_rows(uint64_t columns, bool direct)
{
    return direct ? extent_round_up(columns, BYTE_GROUP) : columns;
}
/* The row of a column's weights. A thread of the tensor cores has two of every eight rows; its 16
 * of a group are columns beside each other. */
static inline uint64_t byte_columns_row(uint64_t column, bool direct)
{
    const uint64_t c = column % BYTE_GROUP;
    return direct ? column - c + c % 16 / 2 * 8 + c / 16 * 2 + c % 2 : column;
}
/* The limits of packed_kind.direct. */
void byte_columns_limit(packed_kind *k, const int_finish *f);
/* k of a product of bytes as packed_cut_of counts it. */
static inline uint64_t byte_columns_k(uint64_t k)
{
    return k / 2 + k % 2;
}

#endif

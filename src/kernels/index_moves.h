/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of index_moves.c over elements of one size, or of one type with a reduction. */
#ifndef KERNELS_INDEX_MOVES_H
#define KERNELS_INDEX_MOVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system.h"

typedef enum index_reduction {
    INDEX_REPLACE,
    INDEX_ADD,
    INDEX_MUL,
    INDEX_MIN, /* NaN in the data stays; a NaN among the updates replaces a number */
    INDEX_MAX,
    INDEX_REDUCTIONS
} index_reduction;

typedef enum index_type { INDEX_F32, INDEX_I64, INDEX_I32, INDEX_TYPES } index_type;

typedef struct index_loops {
    /* data[offsets[i]] (op)= updates[i], in order */
    void (*scatter)(void *data, const void *updates, const uint64_t *offsets, size_t n);
    /* data[i] (op)= updates[i] */
    void (*run)(void *data, const void *updates, size_t n);
    /* y[i] = data[offsets[i]]; NULL for reductions */
    void (*gather)(void *y, const void *data, const uint64_t *offsets, size_t n);
} index_loops;

/* Loops without reduction over elements of 1, 2, 4, 8 or 16 bytes; NULL for other sizes. */
const index_loops *index_loops_of(uint32_t item);
const index_loops *index_reduction_loops_of(index_type type, index_reduction reduction);
/* y[i] = data[index i * stride + i * along]; false: an index is not in [-size, size). All indices
 * of the data are below 2^32. */
typedef bool index_row_function(void *y, const void *data, const void *indices, size_t n,
                                uint64_t size, uint64_t stride, uint64_t along);
/* For elements of 4 or 8 bytes, and indices of 8 bytes if `wide`, else 4; NULL for other sizes. */
index_row_function *index_row_of(uint32_t item, bool wide, cpu_level level);
/* The type's elements have this many bytes. */
static inline uint32_t index_type_bytes(index_type type)
{
    return type == INDEX_I64 ? 8 : 4;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts numbered keys, for kernels that find elements by their order. */
#ifndef KERNELS_FINDER_SORT_H
#define KERNELS_FINDER_SORT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct finder_key {
    uint64_t key;
    uint32_t index;
} finder_key;

/* Loops over many elements look after each piece whether the run is cancelled. */
static inline size_t finder_piece_end(size_t from, size_t n)
{
    enum { PIECE = 1 << 20 };
    return n - from < PIECE ? n : from + PIECE;
}

/* Sorts n keys; equal ones stay in order. Returns the sorted array: `keys` or `spare`, which has
 * the same size. A cancelled run leaves keys in no order, and some of `spare` unset. */
finder_key *finder_sort(finder_key *keys, finder_key *spare, size_t n);

/* A number that orders bits like the float: NaN is the largest, and -0 equals 0. */
static inline uint32_t finder_order_f32(float x)
{
    uint32_t bits;
    x += 0.0f; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof bits);
    if (x != x) return UINT32_MAX;
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

#endif

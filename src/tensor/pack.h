/* SPDX-License-Identifier: Apache-2.0 */
/* Narrow formats (f16, bf16, f8, packed 4 and 2 bits) to and from a carrier type that C has itself.
 */
#ifndef TENSOR_PACK_H
#define TENSOR_PACK_H

#include <polygraphy/tensor.h>

#include "tensor/native.h"

/* Element i of packed elements of 2 or 4 `bits`, the first in the low bits. */
static inline unsigned packed_get(const uint8_t *data, size_t i, unsigned bits)
{
    size_t bit = i * bits;
    return data[bit / 8] >> (bit % 8) & ((1u << bits) - 1);
}

/* The carrier that holds every value of a narrow type: f32, i8 or u8. NATIVE_COUNT for types that
 * are not narrow. */
native_type pack_carrier(pgy_dtype dtype);

/* Values of all codes of 8 bits or fewer, for unpacking. */
typedef struct pack_table {
    float value[256];
} pack_table;
void pack_table_init(pack_table *t, pgy_dtype dtype);

/* Reads n elements of `from`, starting at `first` and `stride` apart, into carriers. */
void pack_widen(void *restrict to, pgy_dtype dtype, const void *restrict from, size_t first,
                ptrdiff_t stride, size_t n, const pack_table *table);
/* The reverse: writes carriers as narrow elements, rounding once. `from` holds f32 or f64 for float
 * types, i8 or u8 for packed integers. */
void pack_narrow_f32(void *restrict to, pgy_dtype dtype, size_t first, ptrdiff_t stride,
                     const float *restrict from, size_t n, bool saturate);
void pack_narrow_f64(void *restrict to, pgy_dtype dtype, size_t first, ptrdiff_t stride,
                     const double *restrict from, size_t n, bool saturate);
void pack_narrow_int(void *restrict to, pgy_dtype dtype, size_t first, const uint8_t *restrict from,
                     size_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Converts narrow types (f16, bf16, f8, packed 6, 4 and 2 bits) to and from a wider C type, here
 * called the carrier. */
#ifndef TENSOR_PACK_H
#define TENSOR_PACK_H

#include <polygraphy/tensor.h>

#include "tensor/native.h"

/* Element i of packed elements of 2, 4 or 6 `bits`, the first in the low bits. Elements of 6 bits
 * may lie across two bytes. */
static inline unsigned packed_get(const uint8_t *data, size_t i, unsigned bits)
{
    const size_t byte = i / 8 * bits + i % 8 * bits / 8, shift = i % 8 * bits % 8;
    unsigned code = data[byte] >> shift;
    if (shift + bits > 8) code |= (unsigned)data[byte + 1] << (8 - shift);
    return code & ((1u << bits) - 1);
}
/* Writes element i and keeps the others. */
static inline void packed_put(uint8_t *data, size_t i, unsigned bits, unsigned code)
{
    const size_t byte = i / 8 * bits + i % 8 * bits / 8, shift = i % 8 * bits % 8;
    const unsigned mask = (1u << bits) - 1;
    code &= mask;
    data[byte] = (uint8_t)((data[byte] & ~(mask << shift)) | code << shift);
    if (shift + bits > 8)
        data[byte + 1] = (uint8_t)((data[byte + 1] & ~(mask >> (8 - shift))) | code >> (8 - shift));
}

/* The C type (carrier) that holds every value of a narrow type: f32, i8 or u8. NATIVE_COUNT for
 * types that are not narrow. */
native_type pack_carrier(pgy_dtype dtype);

/* Maps each code of a type of 8 bits or fewer to its value, for pack_widen. */
typedef struct pack_table {
    float value[256];
} pack_table;
void pack_table_init(pack_table *t, pgy_dtype dtype);

/* Widens n elements of `from`, which begin at index `first` and lie `stride` apart, to their
 * carrier type. */
void pack_widen(void *restrict to, pgy_dtype dtype, const void *restrict from, size_t first,
                ptrdiff_t stride, size_t n, const pack_table *table);
/* Rounds values of a carrier type to narrow elements, once. `from` holds f32 or f64 for float
 * types, i8 or u8 for packed integers. */
void pack_narrow_f32(void *restrict to, pgy_dtype dtype, size_t first, ptrdiff_t stride,
                     const float *restrict from, size_t n, bool saturate);
void pack_narrow_f64(void *restrict to, pgy_dtype dtype, size_t first, ptrdiff_t stride,
                     const double *restrict from, size_t n, bool saturate);
void pack_narrow_int(void *restrict to, pgy_dtype dtype, size_t first, const uint8_t *restrict from,
                     size_t n);

#endif

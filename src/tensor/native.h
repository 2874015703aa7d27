/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion loops between element types that C has itself. */
#ifndef TENSOR_NATIVE_H
#define TENSOR_NATIVE_H

#include <polygraphy/tensor.h>

typedef enum native_type {
    NATIVE_BOOL,
    NATIVE_I8,
    NATIVE_I16,
    NATIVE_I32,
    NATIVE_I64,
    NATIVE_U8,
    NATIVE_U16,
    NATIVE_U32,
    NATIVE_U64,
    NATIVE_F32,
    NATIVE_F64,
    NATIVE_COUNT
} native_type;

/* Converts elements; strides count elements. `to` and `from` must not overlap. */
typedef void (*native_loop)(void *restrict to, ptrdiff_t to_stride, const void *restrict from,
                            ptrdiff_t from_stride, size_t n);
native_loop native_find_loop(native_type from, native_type to);
/* Returns NATIVE_COUNT if C has no such type. */
native_type native_type_of(pgy_dtype dtype);

#endif

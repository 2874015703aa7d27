/* SPDX-License-Identifier: Apache-2.0 */
/* Loops between the eleven element types that C has itself, one per ordered pair, made by including
 * convert_pair.inc 121 times. Floats become integers as by the x86-64 instructions (out of range
 * gives the lowest value, then the upper bits are dropped), because NumPy's casts give the same.
 */
#include "tensor/native.h"

#if defined(__SSE2__)
#include <emmintrin.h>

static inline int32_t trunc_i32(double v)
{
    return _mm_cvttsd_si32(_mm_set_sd(v));
}

static inline int64_t trunc_i64(double v)
{
    return _mm_cvttsd_si64(_mm_set_sd(v));
}
#else
static inline int32_t trunc_i32(double v)
{
    return v > -0x1p31 - 1 && v < 0x1p31 ? (int32_t)v : INT32_MIN;
}

static inline int64_t trunc_i64(double v)
{
    return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
}
#endif

static inline uint64_t trunc_u64(double v)
{
    if (v >= 0x1p63) return (uint64_t)trunc_i64(v - 0x1p63) ^ 1ull << 63;
    return (uint64_t)trunc_i64(v);
}

typedef uint8_t b8;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

#define C_TYPE(t) t
#define PASTE(a, b) a##_to_##b
#define JOIN(a, b) PASTE(a, b)

#define TO b8
#define TO_INT 0
#define TO_BOOL 1
#define TO_TRUNC trunc_u64
#include "tensor/convert_to.inc"
#define TO i8
#define TO_INT 1
#define TO_BOOL 0
#define TO_TRUNC trunc_i32
#include "tensor/convert_to.inc"
#define TO i16
#define TO_INT 1
#define TO_BOOL 0
#define TO_TRUNC trunc_i32
#include "tensor/convert_to.inc"
#define TO i32
#define TO_INT 1
#define TO_BOOL 0
#define TO_TRUNC trunc_i32
#include "tensor/convert_to.inc"
#define TO i64
#define TO_INT 1
#define TO_BOOL 0
#define TO_TRUNC trunc_i64
#include "tensor/convert_to.inc"
#define TO u8
#define TO_INT 1
#define TO_BOOL 0
#define TO_TRUNC trunc_i32
#include "tensor/convert_to.inc"
#define TO u16
#define TO_INT 1
#define TO_BOOL 0
#define TO_TRUNC trunc_i32
#include "tensor/convert_to.inc"
#define TO u32
#define TO_INT 1
#define TO_BOOL 0
#define TO_TRUNC trunc_i64
#include "tensor/convert_to.inc"
#define TO u64
#define TO_INT 1
#define TO_BOOL 0
#define TO_TRUNC trunc_u64
#include "tensor/convert_to.inc"
#define TO f32
#define TO_INT 0
#define TO_BOOL 0
#define TO_TRUNC trunc_u64
#include "tensor/convert_to.inc"
#define TO f64
#define TO_INT 0
#define TO_BOOL 0
#define TO_TRUNC trunc_u64
#include "tensor/convert_to.inc"

/* Conversion loops as [from][to], both in the order of native_type. */
static const native_loop LOOPS[NATIVE_COUNT][NATIVE_COUNT] = {
    {b8_to_b8, b8_to_i8, b8_to_i16, b8_to_i32, b8_to_i64, b8_to_u8, b8_to_u16, b8_to_u32, b8_to_u64,
     b8_to_f32, b8_to_f64},
    {i8_to_b8, i8_to_i8, i8_to_i16, i8_to_i32, i8_to_i64, i8_to_u8, i8_to_u16, i8_to_u32, i8_to_u64,
     i8_to_f32, i8_to_f64},
    {i16_to_b8, i16_to_i8, i16_to_i16, i16_to_i32, i16_to_i64, i16_to_u8, i16_to_u16, i16_to_u32,
     i16_to_u64, i16_to_f32, i16_to_f64},
    {i32_to_b8, i32_to_i8, i32_to_i16, i32_to_i32, i32_to_i64, i32_to_u8, i32_to_u16, i32_to_u32,
     i32_to_u64, i32_to_f32, i32_to_f64},
    {i64_to_b8, i64_to_i8, i64_to_i16, i64_to_i32, i64_to_i64, i64_to_u8, i64_to_u16, i64_to_u32,
     i64_to_u64, i64_to_f32, i64_to_f64},
    {u8_to_b8, u8_to_i8, u8_to_i16, u8_to_i32, u8_to_i64, u8_to_u8, u8_to_u16, u8_to_u32, u8_to_u64,
     u8_to_f32, u8_to_f64},
    {u16_to_b8, u16_to_i8, u16_to_i16, u16_to_i32, u16_to_i64, u16_to_u8, u16_to_u16, u16_to_u32,
     u16_to_u64, u16_to_f32, u16_to_f64},
    {u32_to_b8, u32_to_i8, u32_to_i16, u32_to_i32, u32_to_i64, u32_to_u8, u32_to_u16, u32_to_u32,
     u32_to_u64, u32_to_f32, u32_to_f64},
    {u64_to_b8, u64_to_i8, u64_to_i16, u64_to_i32, u64_to_i64, u64_to_u8, u64_to_u16, u64_to_u32,
     u64_to_u64, u64_to_f32, u64_to_f64},
    {f32_to_b8, f32_to_i8, f32_to_i16, f32_to_i32, f32_to_i64, f32_to_u8, f32_to_u16, f32_to_u32,
     f32_to_u64, f32_to_f32, f32_to_f64},
    {f64_to_b8, f64_to_i8, f64_to_i16, f64_to_i32, f64_to_i64, f64_to_u8, f64_to_u16, f64_to_u32,
     f64_to_u64, f64_to_f32, f64_to_f64},
};

native_loop native_find_loop(native_type from, native_type to)
{
    return LOOPS[from][to];
}

static const struct {
    pgy_dtype dtype;
    native_type type;
} TYPES[] = {
    {PGY_BOOL, NATIVE_BOOL}, {PGY_I8, NATIVE_I8},   {PGY_I16, NATIVE_I16}, {PGY_I32, NATIVE_I32},
    {PGY_I64, NATIVE_I64},   {PGY_U8, NATIVE_U8},   {PGY_U16, NATIVE_U16}, {PGY_U32, NATIVE_U32},
    {PGY_U64, NATIVE_U64},   {PGY_F32, NATIVE_F32}, {PGY_F64, NATIVE_F64},
};

native_type native_type_of(pgy_dtype dtype)
{
    for (size_t i = 0; i < NATIVE_COUNT; i++)
        if (TYPES[i].dtype == dtype) return TYPES[i].type;
    return NATIVE_COUNT;
}

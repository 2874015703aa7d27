// SPDX-License-Identifier: Apache-2.0
// Types and conversions between them: the name of each type is also the suffix of its functions.

typedef float f32;
typedef double f64;
typedef struct f16 { uint16_t bits; } f16;
typedef struct bf16 { uint16_t bits; } bf16;
typedef struct e4m3 { uint8_t bits; } e4m3; // float8: fp8.cu
typedef struct e5m2 { uint8_t bits; } e5m2;
typedef int64_t i64;
typedef int32_t i32;
typedef int16_t i16;
typedef int8_t i8;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef uint8_t b8; // bool
typedef struct ALIGNED(16) u128 { u64 at[2]; } u128;

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define WIDEN(type, x) JOIN(widen_, type)(x)
#define NARROW(type, x) JOIN(narrow_, type)(x)

#ifndef EMULATED
DEVICE float widen_f16(f16 x)
{
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}
DEVICE f16 narrow_f16(float x)
{
    f16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}
#else
DEVICE float widen_f16(f16 x)
{
    const uint32_t sign = (uint32_t)(x.bits & 0x8000) << 16, rest = x.bits & 0x7fff;
    if (rest >= 0x7c00) return bits_f32(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x400) return bits_f32(sign | ((rest << 13) + 0x38000000));
    const float small = (float)rest * 0x1p-24f;
    return sign ? -small : small;
}
DEVICE f16 narrow_f16(float x)
{
    const uint32_t all = f32_bits(x), sign = all >> 16 & 0x8000, rest = all & 0x7fffffff;
    f16 y;
    if (rest > 0x7f800000) {
        y.bits = (uint16_t)(sign | 0x7e00);
    } else if (rest >= 0x477ff000) {
        y.bits = (uint16_t)(sign | 0x7c00);
    } else if (rest >= 0x38800000) {
        y.bits = (uint16_t)(sign | (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13);
    } else {
        y.bits = (uint16_t)(sign | (uint32_t)rintf(bits_f32(rest) * 0x1p24f));
    }
    return y;
}
#endif
DEVICE float widen_bf16(bf16 x) { return bits_f32((uint32_t)x.bits << 16); }
DEVICE bf16 narrow_bf16(float x)
{
    const uint32_t all = f32_bits(x);
    bf16 y;
    y.bits = x != x ? (uint16_t)(all >> 16 | 0x40) : (uint16_t)((all + 0x7fff + (all >> 16 & 1)) >> 16);
    return y;
}
DEVICE float widen_f32(f32 x) { return x; }
DEVICE f32 narrow_f32(float x) { return x; }
DEVICE double widen_f64(f64 x) { return x; }
DEVICE f64 narrow_f64(double x) { return x; }
DEVICE i64 widen_i64(i64 x) { return x; }
DEVICE i64 narrow_i64(i64 x) { return x; }
DEVICE i32 widen_i32(i32 x) { return x; }
DEVICE i32 narrow_i32(i64 x) { return (i32)x; }
DEVICE i32 widen_i16(i16 x) { return x; }
DEVICE i32 widen_i8(i8 x) { return x; }
DEVICE i8 narrow_i8(i64 x) { return (i8)x; }
DEVICE u8 widen_u8(u8 x) { return x; }
DEVICE u8 narrow_u8(i64 x) { return (u8)x; }
DEVICE u8 widen_b8(b8 x) { return x; }
DEVICE b8 narrow_b8(int x) { return x != 0; }
DEVICE u16 widen_u16(u16 x) { return x; }
DEVICE u16 narrow_u16(u16 x) { return x; }
DEVICE u32 widen_u32(u32 x) { return x; }
DEVICE u32 narrow_u32(u32 x) { return x; }
DEVICE u64 widen_u64(u64 x) { return x; }
DEVICE u64 narrow_u64(u64 x) { return x; }

// Two numbers side by side, the first in the low half.
#if !defined(EMULATED) && __CUDA_ARCH__ >= 800
DEVICE uint32_t two_f16(float low, float high)
{
    uint32_t two;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
    return two;
}
DEVICE uint32_t two_bf16(float low, float high)
{
    uint32_t two;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
    return two;
}
#else
DEVICE uint32_t two_f16(float low, float high) { return narrow_f16(low).bits | (uint32_t)narrow_f16(high).bits << 16; }
DEVICE uint32_t two_bf16(float low, float high) { return narrow_bf16(low).bits | (uint32_t)narrow_bf16(high).bits << 16; }
#endif

typedef struct ALIGNED(16) quarters { uint32_t at[4]; } quarters;
DEVICE void store_quarters(void *to, quarters q)
{
#ifndef EMULATED
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" : : "l"(__cvta_generic_to_global(to)), "r"(q.at[0]), "r"(q.at[1]), "r"(q.at[2]), "r"(q.at[3]) : "memory");
#else
    *(quarters *)to = q;
#endif
}

// Loads 16 bytes if `valid`, else zeros, without a branch.
DEVICE quarters load_quarters(const void *from, int valid)
{
    quarters q = {{0, 0, 0, 0}};
#ifndef EMULATED
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\n@p ld.global.v4.b32 {%0, %1, %2, %3}, [%4];\n}"
                 : "+r"(q.at[0]), "+r"(q.at[1]), "+r"(q.at[2]), "+r"(q.at[3]) : "l"(__cvta_generic_to_global(from)), "r"(valid));
#else
    if (valid) q = *(const quarters *)from;
#endif
    return q;
}

// Rounds eight neighbours and stores them by accesses of 16 bytes; the compiler splits assignments of structs of them.
#define STORE_8(type, to, v) JOIN(store_8_, type)(to, v)
DEVICE void store_8_f16(f16 *to, const float *v)
{
    const quarters q = {{two_f16(v[0], v[1]), two_f16(v[2], v[3]), two_f16(v[4], v[5]), two_f16(v[6], v[7])}};
    store_quarters(to, q);
}
DEVICE void store_8_bf16(bf16 *to, const float *v)
{
    const quarters q = {{two_bf16(v[0], v[1]), two_bf16(v[2], v[3]), two_bf16(v[4], v[5]), two_bf16(v[6], v[7])}};
    store_quarters(to, q);
}
DEVICE void store_8_f32(f32 *to, const float *v)
{
    UNROLL for (int i = 0; i < 2; i++) {
        const float *const u = v + i * 4;
        const quarters q = {{f32_bits(u[0]), f32_bits(u[1]), f32_bits(u[2]), f32_bits(u[3])}};
        store_quarters(to + i * 4, q);
    }
}

typedef float wide_f32, wide_f16, wide_bf16;
typedef double wide_f64;
typedef i64 wide_i64;
typedef i32 wide_i32, wide_i16, wide_i8;
typedef u8 wide_u8, wide_b8;
typedef u16 wide_u16;
typedef u32 wide_u32;
typedef u64 wide_u64;

// x / y; a division of 64 bits takes many times as long as one of 32.
DEVICE uint64_t quotient(uint64_t x, uint64_t y)
{
    return (x | y) >> 32 ? x / y : (uint32_t)x / (uint32_t)y;
}

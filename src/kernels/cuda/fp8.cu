// SPDX-License-Identifier: Apache-2.0
// float8: e4m3 (no infinities) and e5m2; text in front of the sources that use them. Numbers that are too large become the largest one.
typedef float wide_e4m3, wide_e5m2;

DEVICE float widen_e4m3(e4m3 x)
{
    const uint32_t sign = (uint32_t)(x.bits & 0x80) << 24, rest = x.bits & 0x7f;
    if (rest == 0x7f) return bits_f32(sign | 0x7fc00000);
    if (rest < 8) return bits_f32(sign | f32_bits((float)rest * (1 / 512.0f)));
    return bits_f32(sign | ((rest << 20) + 0x3c000000));
}

DEVICE float widen_e5m2(e5m2 x)
{
    f16 y;
    y.bits = (uint16_t)(x.bits << 8);
    return WIDEN(f16, y);
}

// Two numbers, the first in the low byte.
#if !defined(EMULATED) && __CUDA_ARCH__ >= 890
DEVICE uint32_t two_e4m3(float low, float high)
{
    uint16_t two;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(two) : "f"(high), "f"(low));
    return two;
}
DEVICE uint32_t two_e5m2(float low, float high)
{
    uint16_t two;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(two) : "f"(high), "f"(low));
    return two;
}
#else
// `shift`: bits of a float32's mantissa that go; `least`: the exponent of the smallest normal number; `most`: the code of the largest one.
DEVICE uint32_t narrow_byte(float x, uint32_t shift, int least, uint32_t most, uint32_t nan)
{
    const uint32_t all = f32_bits(x), sign = all >> 24 & 0x80, rest = all & 0x7fffffff;
    const uint32_t first = (uint32_t)(least + 127) << 23, even = rest >> shift & 1;
    if (x != x) return sign | nan;
    if (rest < first) return sign | (uint32_t)rintf(bits_f32(rest) / bits_f32(first) * (float)(1u << (23 - shift)));
    const uint32_t code = ((rest - first + (1u << (shift - 1)) - 1 + even) >> shift) + (1u << (23 - shift));
    return sign | (rest > 0x7f000000 || code > most ? most : code);
}
DEVICE uint32_t two_e4m3(float low, float high) { return narrow_byte(low, 20, -6, 0x7e, 0x7f) | narrow_byte(high, 20, -6, 0x7e, 0x7f) << 8; }
DEVICE uint32_t two_e5m2(float low, float high) { return narrow_byte(low, 21, -14, 0x7b, 0x7e) | narrow_byte(high, 21, -14, 0x7b, 0x7e) << 8; }
#endif
DEVICE e4m3 narrow_e4m3(float x)
{
    e4m3 y;
    y.bits = (uint8_t)two_e4m3(x, 0);
    return y;
}
DEVICE e5m2 narrow_e5m2(float x)
{
    e5m2 y;
    y.bits = (uint8_t)two_e5m2(x, 0);
    return y;
}

#define STORE_8_BYTES(type)                                                                    \
    DEVICE void JOIN(store_8_, type)(type *to, const float *v)                                 \
    {                                                                                          \
        typedef struct ALIGNED(8) two { uint32_t at[2]; } two;                                 \
        two t;                                                                                 \
        UNROLL for (int i = 0; i < 2; i++)                                                     \
            t.at[i] = JOIN(two_, type)(v[i * 4], v[i * 4 + 1]) | JOIN(two_, type)(v[i * 4 + 2], v[i * 4 + 3]) << 16; \
        *(two *)to = t;                                                                        \
    }
STORE_8_BYTES(e4m3)
STORE_8_BYTES(e5m2)

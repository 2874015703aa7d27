// SPDX-License-Identifier: Apache-2.0
// Rounding to quantised bytes, as the operators define it in float64; text in front of the sources that use it. The compiler fuses no
// multiplication with an addition: the results must be those of the host.
#ifndef EMULATED
#define ADD_F32(x, y) __fadd_rn(x, y)
#define FMA_F32(x, y, z) __fmaf_rn(x, y, z)
#define MUL_F32(x, y) __fmul_rn(x, y)
#define ADD_F64(x, y) __dadd_rn(x, y)
#define MUL_F64(x, y) __dmul_rn(x, y)
#else
#define ADD_F32(x, y) ((x) + (y))
#define FMA_F32(x, y, z) fmaf(x, y, z)
#define MUL_F32(x, y) ((x) * (y))
#define ADD_F64(x, y) ((x) + (y))
#define MUL_F64(x, y) ((x) * (y))
#endif

// x in float64; conversions take four times as long as sums.
DEVICE double exact_f64(int32_t x)
{
#ifndef EMULATED
    return __hiloint2double(0x43300000, x ^ (int32_t)0x80000000) - 4503601774854144.0;
#else
    return x;
#endif
}

// The four bytes that begin `shift` bits behind those of `low`.
DEVICE uint32_t word_at(uint32_t low, uint32_t high, uint32_t shift)
{
#ifndef EMULATED
    return __funnelshift_r(low, high, shift);
#else
    return (uint32_t)(((uint64_t)high << 32 | low) >> shift);
#endif
}

typedef struct byte_limits {
    int32_t zero, low, high; // the zero point, and the limits of results
} byte_limits;

// Adding 1.5 * 2^23 or 1.5 * 2^52 and subtracting it again rounds to the nearest integer, halves to even.
#define ROUNDING_F32 12582912.0f
#define ROUNDING_F64 6755399441055744.0

DEVICE int32_t exact_byte(double v, byte_limits l)
{
    const double low = l.low - l.zero, high = l.high - l.zero, above = v > low ? v : low, within = above < high ? above : high;
    return (int32_t)ADD_F64(ADD_F64(within, ROUNDING_F64), -ROUNDING_F64) + l.zero;
}

// The low bits are those of v, rounded, plus the zero point. *apart: how far v is from its rounded number; NaN becomes the low limit. A
// number half way between two goes to either: the caller computes it again.
DEVICE uint32_t rounded_bits(float v, byte_limits l, float *apart)
{
    const float middle = ROUNDING_F32 + (float)l.zero, within = fminf(fmaxf(v, (float)(l.low - l.zero)), (float)(l.high - l.zero));
    const float moved = ADD_F32(within, middle);
    *apart = fabsf(ADD_F32(within, -ADD_F32(moved, -middle)));
    return f32_bits(moved);
}

// v may be off by `slack`. *close: another number that near would round to another byte.
DEVICE int32_t nearest_byte(float v, float slack, byte_limits l, int *close)
{
    float apart;
    const uint32_t bits = rounded_bits(v, l, &apart);
    *close = !(apart < 0.5f - slack);
    return (int32_t)(bits - f32_bits(ROUNDING_F32));
}

typedef struct ALIGNED(8) byte_pack { u8 at[8]; } byte_pack;

// Eight sums times their scales; `factors` are the scales in float32, which within the limits of bytes is off by less than 2^-14. Few are
// so close to a half that float64 must decide, so one branch for all is best.
DEVICE byte_pack bytes_of_sums(const int32_t *sums, const float *factors, const double *scales, byte_limits l)
{
    byte_pack y;
    float most = 0;
    UNROLL for (int e = 0; e < 8; e++) {
        float apart;
        y.at[e] = (u8)rounded_bits(MUL_F32((float)sums[e], factors[e]), l, &apart);
        most = fmaxf(most, apart);
    }
    if (most >= 0.5f - 0x1p-14f)
        UNROLL for (int e = 0; e < 8; e++) y.at[e] = (u8)exact_byte(MUL_F64((double)sums[e], scales[e]), l);
    return y;
}

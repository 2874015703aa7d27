/* SPDX-License-Identifier: Apache-2.0 */
/* Single values of every float format narrower than f32, to and from f64.
 *
 * All formats with a sign and a mantissa share one narrowing: the double's bits are cut at the
 * format's last place and rounded to nearest even in integer arithmetic, once, so no double
 * rounding can occur. A row of FORMATS says what happens above the largest value. E8M0 has only an
 * exponent and its own functions. */
#include <math.h>
#include <string.h>

#include "tensor/convert.h"
#include "tensor/pack.h"

typedef struct float_format {
    pgy_dtype dtype;
    int mantissa_bits;
    int min_exponent; /* exponent of the smallest normal value */
    unsigned sign_bit;
    unsigned max_code; /* code of the largest finite value */
    unsigned inf_code; /* code for infinity and overflow when not saturating */
    unsigned nan_code;
    bool unsigned_zero; /* an FNUZ format: the code of -0 means NaN */
} float_format;

static const float_format F16 = {PGY_F16, 10, -14, 0x8000, 0x7bff, 0x7c00, 0x7e00, false};
static const float_format BF16 = {PGY_BF16, 7, -126, 0x8000, 0x7f7f, 0x7f80, 0x7fc0, false};
static const float_format FORMATS[] = {
    {PGY_F8E4M3FN, 3, -6, 0x80, 0x7e, 0x7f, 0x7f, false},
    {PGY_F8E4M3FNUZ, 3, -7, 0x80, 0x7f, 0x80, 0x80, true},
    {PGY_F8E5M2, 2, -14, 0x80, 0x7b, 0x7c, 0x7e, false},
    {PGY_F8E5M2FNUZ, 2, -15, 0x80, 0x7f, 0x80, 0x80, true},
    {PGY_F6E2M3, 3, 0, 0x20, 0x1f, 0x1f, 0x20, false},
    {PGY_F6E3M2, 2, -2, 0x20, 0x1f, 0x1f, 0x20, false},
    {PGY_F4E2M1, 1, 0, 0x08, 0x07, 0x07, 0x08, false},
};

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Magnitude code of a finite |v|, rounded to nearest even. The caller checks it against the largest
 * value. */
static unsigned narrow_magnitude(const float_format *f, uint64_t bits)
{
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t mantissa = bits & 0xfffffffffffffull;
    if (exponent == -1023)
        return 0; /* subnormal doubles are far below half of any format's last place */
    mantissa |= 1ull << 52;
    int shift = 52 - f->mantissa_bits;
    int field = exponent - f->min_exponent + 1;
    if (field < 1) {
        shift += 1 - field;
        field = 1;
    }
    if (shift > 63) return 0;
    uint64_t kept = mantissa >> shift, rest = mantissa & ((1ull << shift) - 1),
             half = 1ull << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));
    /* The leading one of a normal value carries into the exponent field; so does rounding up to the
     * next power of two. */
    return (unsigned)(((uint64_t)(field - 1) << f->mantissa_bits) + kept);
}

static unsigned narrow(const float_format *f, double v, bool saturate)
{
    uint64_t bits = bits_of(v);
    bool negative = bits >> 63;
    unsigned sign = negative ? f->sign_bit : 0, code;
    if (v != v) return f->unsigned_zero ? f->nan_code : f->nan_code ^ sign;
    code = isinf(v) ? ~0u : narrow_magnitude(f, bits & ~(1ull << 63));
    if (code > f->max_code) code = saturate ? f->max_code : f->inf_code;
    if (f->unsigned_zero && (code == 0 || code == f->nan_code)) return code;
    return code | sign;
}

static double widen(const float_format *f, unsigned code)
{
    unsigned magnitude = code & (f->sign_bit - 1),
             mantissa = magnitude & ((1u << f->mantissa_bits) - 1);
    int field = (int)(magnitude >> f->mantissa_bits);
    double sign = code & f->sign_bit ? -1.0 : 1.0;
    if (f->unsigned_zero && code == f->nan_code) return NAN;
    if (magnitude > f->max_code)
        return f->inf_code != f->nan_code && magnitude == f->inf_code ? sign * INFINITY : NAN;
    if (field) mantissa |= 1u << f->mantissa_bits;
    return sign * ldexp(mantissa, (field ? field - 1 : 0) + f->min_exponent - f->mantissa_bits);
}

float f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fff;
    if (magnitude >= 0x7c00) {
        uint32_t quiet = magnitude > 0x7c00 ? 0x400000 : 0;
        return float_of(sign | 0x7f800000 | quiet | (magnitude & 0x3ff) << 13);
    }
    /* An exact multiplication rebases the exponent, also for subnormals. */
    return float_of(sign | magnitude << 13) * 0x1p112f;
}

/* NaNs keep the upper bits of their payload and become quiet, as in the processor's own conversion.
 */
static uint16_t quiet_nan(const float_format *f, double v)
{
    unsigned payload =
        (unsigned)(bits_of(v) >> (52 - f->mantissa_bits)) & ((1u << f->mantissa_bits) - 1);
    return (uint16_t)(f->nan_code | payload | (signbit(v) ? f->sign_bit : 0));
}

uint16_t f16_from_f64(double v)
{
    return isnan(v) ? quiet_nan(&F16, v) : (uint16_t)narrow(&F16, v, false);
}

float bf16_to_f32(uint16_t h)
{
    return float_of((uint32_t)h << 16);
}

uint16_t bf16_from_f64(double v)
{
    return isnan(v) ? quiet_nan(&BF16, v) : (uint16_t)narrow(&BF16, v, false);
}

static const float_format *find_format(pgy_dtype dtype)
{
    for (size_t i = 0; i < sizeof FORMATS / sizeof FORMATS[0]; i++)
        if (FORMATS[i].dtype == dtype) return &FORMATS[i];
    return NULL;
}

/* Converts to E8M0, which has an exponent only: the sign is dropped, zero becomes the smallest
 * value, ties go up as in ONNX's "nearest". */
static uint8_t e8m0_from_f64(double v, bool saturate)
{
    int exponent;
    if (!isfinite(v)) return 0xff;
    if (v == 0) return 0;
    double fraction = frexp(fabs(v), &exponent); /* in [0.5, 1) */
    int code = exponent - 1 + 127 + (fraction >= 0.75);
    if (code < 0) return 0;
    return code <= 0xfe ? (uint8_t)code : saturate ? 0xfe : 0xff;
}

double f8_to_f64(pgy_dtype dtype, uint8_t code)
{
    if (dtype == PGY_F8E8M0) return code == 0xff ? NAN : ldexp(1.0, code - 127);
    const float_format *f = find_format(dtype);
    return f ? widen(f, code) : NAN;
}

uint8_t f8_from_f64(pgy_dtype dtype, double v, bool saturate)
{
    if (dtype == PGY_F8E8M0) return e8m0_from_f64(v, saturate);
    const float_format *f = find_format(dtype);
    return f ? (uint8_t)narrow(f, v, saturate) : 0;
}

double float_round(pgy_dtype dtype, double v, bool saturate)
{
    switch ((int)dtype) {
    case PGY_F64: return v;
    case PGY_F32: return (float)v;
    case PGY_F16: return f16_to_f32(f16_from_f64(v));
    case PGY_BF16: return bf16_to_f32(bf16_from_f64(v));
    default: return f8_to_f64(dtype, f8_from_f64(dtype, v, saturate));
    }
}

double element_as_f64(pgy_dtype dtype, const void *data, size_t i)
{
    union {
        uint16_t u16;
        float f32;
        double f64;
    } e;
    const char *at = data;
    switch ((int)dtype) {
    case PGY_F64: memcpy(&e.f64, at + i * 8, 8); return e.f64;
    case PGY_F32: memcpy(&e.f32, at + i * 4, 4); return e.f32;
    case PGY_F16: memcpy(&e.u16, at + i * 2, 2); return f16_to_f32(e.u16);
    case PGY_BF16: memcpy(&e.u16, at + i * 2, 2); return bf16_to_f32(e.u16);
    case PGY_F6E2M3:
    case PGY_F6E3M2: return f8_to_f64(dtype, (uint8_t)packed_get(data, i, 6));
    case PGY_F4E2M1: return f8_to_f64(dtype, (uint8_t)packed_get(data, i, 4));
    case PGY_U64: return (double)(uint64_t)element_as_i64(dtype, data, i);
    default: break;
    }
    if (pgy_dtype_is_float(dtype)) return f8_to_f64(dtype, ((const uint8_t *)data)[i]);
    return (double)element_as_i64(dtype, data, i);
}

static int64_t trunc_i64(double v)
{
    return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
}

int64_t element_as_i64(pgy_dtype dtype, const void *data, size_t i)
{
    const pgy_dtype_info *info = pgy_dtype_describe(dtype);
    uint64_t code = 0;
    if (info->kind == PGY_KIND_FLOAT) return trunc_i64(element_as_f64(dtype, data, i));
    if (info->bits < 8)
        code = packed_get(data, i, info->bits);
    else
        memcpy(&code, (const char *)data + i * (info->bits / 8),
               info->bits <= 64 ? info->bits / 8 : 8);
    if (info->kind == PGY_KIND_BOOL) return code != 0;
    unsigned unused = info->bits < 64 ? 64 - info->bits : 0;
    if (info->kind == PGY_KIND_SIGNED) return (int64_t)(code << unused) >> unused;
    return (int64_t)code;
}

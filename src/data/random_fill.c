/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's RandomState draws floats from two 32-bit words each and integers by masked rejection,
 * small types from pieces of one word. Words are generated in blocks, so that the generator and the
 * conversions both run as tight loops. */
#include "data/random_fill.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cancel.h"
#include "base/pytext.h"
#include "base/system.h"
#include "tensor/convert.h"

enum { BLOCK = 2048 };

/* ---- Floats ---- */

typedef struct scale_shift {
    double scale, shift;
} scale_shift;

/* As in the original, an infinite end makes the whole range that infinity. */
static scale_shift float_range(const pgy_value_range *r)
{
    scale_shift s = {r->high - r->low, r->low};
    if (isinf(r->low)) s = (scale_shift){r->low, 0};
    if (isinf(r->high)) s.scale = r->high;
    return s;
}

/* The i-th double: 53 bits of the words 2i and 2i + 1, then scaled. */
static double to_double(const uint32_t *words, size_t i, scale_shift s)
{
    double high = (double)(int32_t)(words[2 * i] >> 5);
    double low = (double)(int32_t)(words[2 * i + 1] >> 6);
    return (high * 67108864.0 + low) * 0x1p-53 * s.scale + s.shift;
}

#if defined(__x86_64__)

/* Like to_double, for four values. A pair of words is one 64-bit lane; as an integer below 2^52 it
 * becomes a double by giving it the exponent of 2^52, which is then subtracted. No multiply-add is
 * fused, so results equal NumPy's. */
__attribute__((target("avx2"))) static inline __m256d four_doubles(const uint32_t *words,
                                                                   __m256d scale, __m256d shift)
{
    const __m256i exponent = _mm256_set1_epi64x(0x4330000000000000);
    const __m256d base = _mm256_set1_pd(0x1p52);
    __m256i pairs = _mm256_loadu_si256((const __m256i *)words);
    __m256i high = _mm256_srli_epi64(_mm256_slli_epi64(pairs, 32), 37);
    __m256i low = _mm256_srli_epi64(pairs, 38);
    __m256d h = _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(high, exponent)), base);
    __m256d l = _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(low, exponent)), base);
    __m256d v = _mm256_add_pd(_mm256_mul_pd(h, _mm256_set1_pd(67108864.0)), l);
    v = _mm256_mul_pd(_mm256_mul_pd(v, _mm256_set1_pd(0x1p-53)), scale);
    return _mm256_add_pd(v, shift);
}

/* Each returns the number of values it wrote. */
__attribute__((target("avx2"))) static size_t doubles_avx2(double *out, const uint32_t *words,
                                                           size_t count, scale_shift s)
{
    const __m256d scale = _mm256_set1_pd(s.scale), shift = _mm256_set1_pd(s.shift);
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        _mm256_storeu_pd(out + i, four_doubles(words + 2 * i, scale, shift));
    return i;
}

__attribute__((target("avx2"))) static size_t floats_avx2(float *out, const uint32_t *words,
                                                          size_t count, scale_shift s)
{
    const __m256d scale = _mm256_set1_pd(s.scale), shift = _mm256_set1_pd(s.shift);
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        _mm_storeu_ps(out + i, _mm256_cvtpd_ps(four_doubles(words + 2 * i, scale, shift)));
    return i;
}

#else

static size_t doubles_avx2(double *out, const uint32_t *words, size_t count, scale_shift s)
{
    (void)out, (void)words, (void)count, (void)s;
    return 0;
}

static size_t floats_avx2(float *out, const uint32_t *words, size_t count, scale_shift s)
{
    (void)out, (void)words, (void)count, (void)s;
    return 0;
}

#endif

static void to_doubles(double *out, const uint32_t *words, size_t count, scale_shift s)
{
    size_t i = cpu_features() >= CPU_AVX2 ? doubles_avx2(out, words, count, s) : 0;
    for (; i < count; i++) out[i] = to_double(words, i, s);
}

static void to_floats(float *out, const uint32_t *words, size_t count, scale_shift s)
{
    size_t i = cpu_features() >= CPU_AVX2 ? floats_avx2(out, words, count, s) : 0;
    for (; i < count; i++) out[i] = (float)to_double(words, i, s);
}

static pgy_status fill_floats(pgy_tensor *t, mt19937 *g, const pgy_value_range *range,
                              pgy_error *err)
{
    uint32_t words[2 * BLOCK];
    double values[BLOCK];
    scale_shift s = float_range(range);
    pgy_dtype dtype = pgy_tensor_dtype(t);
    size_t count = pgy_tensor_count(t);
    char *data = pgy_tensor_data(t);
    size_t item = pgy_dtype_describe(dtype)->bits / 8;
    for (size_t i = 0; i < count; i += BLOCK) {
        size_t n = count - i < BLOCK ? count - i : BLOCK;
        const pgy_status stop = cancel_check(err);
        if (stop) return stop;
        mt19937_fill_u32(g, words, 2 * n);
        if (dtype == PGY_F64) {
            to_doubles((double *)data + i, words, n, s);
            continue;
        }
        if (dtype == PGY_F32) {
            to_floats((float *)data + i, words, n, s);
            continue;
        }
        to_doubles(values, words, n, s);
        int64_t shape = (int64_t)n;
        pgy_status st = pgy_view_convert(pgy_view_of(data + i * item, dtype, 1, &shape),
                                         pgy_view_of(values, PGY_F64, 1, &shape), false, err);
        if (st) return st;
    }
    return PGY_OK;
}

/* torch.rand: 24 bits of one word, or 53 of two for float64. In narrow types a value that would
 * round to 1 becomes 0. */
static double torch_unit(mt19937 *g, pgy_dtype dtype)
{
    if (dtype == PGY_F64) {
        uint64_t high = mt19937_u32(g), low = mt19937_u32(g);
        return (double)((high << 32 | low) & (((uint64_t)1 << 53) - 1)) * 0x1p-53;
    }
    double unit = (double)(mt19937_u32(g) & 0xFFFFFF) * 0x1p-24;
    double rounds_to_one = dtype == PGY_F16 ? 1 - 0x1p-12 : dtype == PGY_BF16 ? 1 - 0x1p-9 : 1;
    return unit >= rounds_to_one ? 0 : unit;
}

static pgy_status fill_torch_floats(pgy_tensor *t, mt19937 *g, const pgy_value_range *range,
                                    pgy_error *err)
{
    double values[BLOCK];
    pgy_dtype dtype = pgy_tensor_dtype(t);
    size_t count = pgy_tensor_count(t), item = pgy_dtype_describe(dtype)->bits / 8;
    scale_shift s = float_range(range);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i += BLOCK) {
        size_t n = count - i < BLOCK ? count - i : BLOCK;
        st = cancel_check(err);
        if (st) break;
        int64_t shape = (int64_t)n;
        for (size_t k = 0; k < n; k++) values[k] = torch_unit(g, dtype) * s.scale + s.shift;
        char *to = (char *)pgy_tensor_data(t) + i * item;
        st = pgy_view_convert(pgy_view_of(to, dtype, 1, &shape),
                              pgy_view_of(values, PGY_F64, 1, &shape), false, err);
    }
    return st;
}

static pgy_status fill_strings(pgy_tensor *t, mt19937 *g, const pgy_value_range *range,
                               pgy_error *err)
{
    scale_shift s = float_range(range);
    char text[40];
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_count(t); i++) {
        size_t size = py_double_repr(text, mt19937_double(g) * s.scale + s.shift);
        st = pgy_tensor_set_string(t, i, text, size, err);
    }
    return st;
}

/* ---- Integers ---- */

static uint64_t mask_for(uint64_t range)
{
    uint64_t mask = range;
    for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
    return mask;
}

typedef struct integer_draw {
    uint64_t low, range, mask;
} integer_draw;

/* Converts words to elements from index i on. The caller never draws more words than the remaining
 * elements need. Unused bits of the last word are dropped. */
typedef size_t (*integer_taker)(void *data, size_t i, size_t count, const uint32_t *words,
                                size_t word_count, const integer_draw *d);

#define T uint8_t
#define NAME take_8
#define PIECES 4
#define SHIFT 8
#include "data/random_integers.inc"
#define T uint16_t
#define NAME take_16
#define PIECES 2
#define SHIFT 16
#include "data/random_integers.inc"
#define T uint32_t
#define NAME take_32
#define PIECES 1
#define SHIFT 0
#include "data/random_integers.inc"
#define T uint64_t
#define NAME take_64
#define PIECES 1
#define SHIFT 0
#include "data/random_integers.inc"

/* 64 bits from two words, the high half first. */
static size_t take_pairs(void *data, size_t i, size_t count, const uint32_t *words,
                         size_t word_count, const integer_draw *d)
{
    uint64_t *out = data;
    for (size_t w = 0; w + 1 < word_count && i < count; w += 2) {
        uint64_t v = ((uint64_t)words[w] << 32 | words[w + 1]) & d->mask;
        out[i] = d->low + v;
        i += v <= d->range;
    }
    return i;
}

static size_t take_bits(void *data, size_t i, size_t count, const uint32_t *words,
                        size_t word_count, const integer_draw *d)
{
    (void)d;
    uint8_t *out = data;
    for (size_t w = 0; w < word_count; w++) {
        size_t n = count - i < 32 ? count - i : 32;
        for (size_t p = 0; p < n; p++) out[i + p] = words[w] >> p & 1;
        i += n;
    }
    return i;
}

/* One word gives `per_word` elements; 0: two words give one element. */
static void take_all(void *data, size_t count, mt19937 *g, integer_taker take, size_t per_word,
                     const integer_draw *d)
{
    uint32_t words[2 * BLOCK];
    for (size_t i = 0; i < count && !cancel_requested();) {
        size_t left = count - i, n = BLOCK;
        if (per_word && (left + per_word - 1) / per_word < n) n = (left + per_word - 1) / per_word;
        if (!per_word) n = 2 * (left < BLOCK ? left : BLOCK);
        mt19937_fill_u32(g, words, n);
        i = take(data, i, count, words, n, d);
    }
}

static void take_integers(pgy_tensor *t, mt19937 *g, const integer_draw *d)
{
    static const struct {
        unsigned bits;
        integer_taker take;
        size_t per_word;
    } WIDTHS[] = {{8, take_8, 4}, {16, take_16, 2}, {32, take_32, 1}, {64, take_64, 1}};
    unsigned bits = pgy_dtype_describe(pgy_tensor_dtype(t))->bits;
    if (d->range > UINT32_MAX) {
        take_all(pgy_tensor_data(t), pgy_tensor_count(t), g, take_pairs, 0, d);
        return;
    }
    for (size_t i = 0; i < sizeof WIDTHS / sizeof *WIDTHS; i++)
        if (WIDTHS[i].bits == bits)
            take_all(pgy_tensor_data(t), pgy_tensor_count(t), g, WIDTHS[i].take, WIDTHS[i].per_word,
                     d);
}

/* A constant needs no draws. */
static pgy_status fill_constant(pgy_tensor *t, int64_t value, pgy_error *err)
{
    int64_t strides[PGY_MAX_RANK] = {0};
    pgy_view from = pgy_view_of(&value, PGY_I64, pgy_tensor_rank(t), pgy_tensor_shape(t));
    from.strides = strides;
    return pgy_view_convert(pgy_tensor_view(t), from, false, err);
}

static bool fits(double v)
{
    return v > -9223372036854775808.0 && v < 9223372036854775808.0;
}

static pgy_status integer_ends(int64_t *low, int64_t *high, const pgy_value_range *r,
                               pgy_error *err)
{
    if (r->is_integer) {
        *low = r->low_int;
        *high = r->high_int;
    } else if (!fits(r->low) || !fits(r->high)) {
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "range [%g, %g] has an end that is not an integer, but the data has an integer type",
            r->low, r->high);
    } else {
        *low = (int64_t)r->low;
        *high = (int64_t)r->high;
    }
    return *low <= *high ? PGY_OK
                         : pgy_error_set(err, PGY_E_ARGUMENT, "range [%lld, %lld] is empty",
                                         (long long)*low, (long long)*high);
}

/* Fails, as NumPy does, if the type cannot hold an end of the range. */
static pgy_status check_ends(int64_t low, int64_t high, pgy_dtype dtype, unsigned bits,
                             pgy_error *err)
{
    bool is_unsigned = pgy_dtype_describe(dtype)->kind == PGY_KIND_UNSIGNED;
    bool good = true;
    if (is_unsigned)
        good = low >= 0 && (bits == 64 || (uint64_t)high < (uint64_t)1 << bits);
    else if (bits < 64)
        good = low >= -((int64_t)1 << (bits - 1)) && high < (int64_t)1 << (bits - 1);
    return good ? PGY_OK
                : pgy_error_set(err, PGY_E_ARGUMENT,
                                "range [%lld, %lld] goes beyond the values of type %s",
                                (long long)low, (long long)high, pgy_dtype_name(dtype));
}

static pgy_status fill_integers(pgy_tensor *t, mt19937 *g, const pgy_value_range *r, pgy_error *err)
{
    int64_t low = 0, high = 0;
    pgy_dtype dtype = pgy_tensor_dtype(t);
    unsigned bits = pgy_dtype_describe(dtype)->bits;
    pgy_status st = integer_ends(&low, &high, r, err);
    if (!st) st = check_ends(low, high, dtype, bits, err);
    if (st) return st;
    if (low == high) return fill_constant(t, low, err);
    integer_draw d = {.low = (uint64_t)low, .range = (uint64_t)high - (uint64_t)low};
    d.mask = mask_for(d.range);
    take_integers(t, g, &d);
    return PGY_OK;
}

static pgy_status fill_bools(pgy_tensor *t, mt19937 *g, const pgy_value_range *r, pgy_error *err)
{
    bool low = r->low != 0, high = r->high != 0;
    if (low == high) return fill_constant(t, low, err);
    take_all(pgy_tensor_data(t), pgy_tensor_count(t), g, take_bits, 32, NULL);
    return PGY_OK;
}

pgy_status random_fill(pgy_tensor *t, mt19937 *g, const pgy_value_range *range, bool torch_floats,
                       pgy_error *err)
{
    pgy_dtype dtype = pgy_tensor_dtype(t);
    if (pgy_dtype_is_integer(dtype)) return fill_integers(t, g, range, err);
    if (dtype == PGY_BOOL) return fill_bools(t, g, range, err);
    if (dtype == PGY_STRING) return fill_strings(t, g, range, err);
    return torch_floats ? fill_torch_floats(t, g, range, err) : fill_floats(t, g, range, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of elements and of differences. A source knows the types of both sides. It widens a block
 * of each side to a common type and forms absolute and relative differences: floats by the vector
 * kernels of block.inc, integers by plain loops in 64 bits (128 for int64 against uint64). Arrays
 * of the common type are read in place. */
#include <math.h>

#include "compare/arith.h"

/* ---- Sources
 * --------------------------------------------------------------------------------------- */

source source_array(pgy_view v)
{
    source s = {
        .count = pgy_view_count(v), .stream_count = 1, .a = pgy_view_data(v), .a_dtype = v.dtype};
    s.streams[0] = (stream){arith_work_type(v.dtype), v.dtype,
                            v.dtype == PGY_BOOL || arith_is_complex(v.dtype)};
    s.tree = v.dtype == PGY_F32 || v.dtype == PGY_C64;
    return s;
}

static void set_integer_pair(source *s)
{
    bool wrap = s->options.wrap;
    bool u64_a = s->a_dtype == PGY_U64, u64_b = s->b_dtype == PGY_U64;
    bool bool_a = s->a_dtype == PGY_BOOL, bool_b = s->b_dtype == PGY_BOOL;
    bool narrow_a = arith_is_int32(s->a_dtype), narrow_b = arith_is_int32(s->b_dtype);
    s->common = WORK_I64;
    if ((u64_a || bool_a) && (u64_b || bool_b) && (u64_a || u64_b)) s->common = WORK_U64;
    s->mixed_u64 = (u64_a || u64_b) && s->common != WORK_U64;
    s->wrap_i32 = (narrow_a || bool_a) && (narrow_b || bool_b) && (narrow_a || narrow_b);
    stream absolute = {WORK_U64, PGY_I64, true};
    if (s->mixed_u64) {
        absolute = (stream){WORK_F64, PGY_F64, true};
    } else if (bool_a && bool_b) {
        absolute.dtype = PGY_BOOL;
    } else if (s->common == WORK_U64) {
        absolute.dtype = PGY_U64;
    } else {
        absolute.dtype = s->wrap_i32 ? PGY_I32 : PGY_I64;
        if (wrap) absolute.work = WORK_I64;
        absolute.nonnegative = !wrap;
    }
    s->streams[0] = absolute;
    s->streams[1] = (stream){WORK_F64, PGY_F64, !wrap};
}

source source_pair(pgy_view a, pgy_view b, const pair_options *options)
{
    source s = {.count = pgy_view_count(a), .stream_count = 2, .is_pair = true};
    s.a = pgy_view_data(a);
    s.b = pgy_view_data(b);
    s.a_dtype = a.dtype;
    s.b_dtype = b.dtype;
    s.options = *options;
    s.atol_f32 = arith_float_not_above(options->atol.real);
    s.rtol_f32 = arith_float_not_above(options->rtol.real);
    s.float_reference = arith_is_floating(b.dtype);
    if (!arith_is_floating(a.dtype) && !arith_is_floating(b.dtype)) {
        set_integer_pair(&s);
        return s;
    }
    s.common = arith_common_float(a.dtype, b.dtype);
    s.float_meets_i64 = arith_float_meets_i64(a.dtype, b.dtype);
    if (s.common == WORK_F32 && options->infinities_equal) {
        s.common = WORK_F64;
        s.single = true;
    }
    pgy_dtype dtype = s.common == WORK_F32 ? PGY_F32 : PGY_F64;
    s.streams[0] = s.streams[1] = (stream){s.common, dtype, true};
    s.streams[1].nonnegative = !options->wrap;
    s.tree = s.common == WORK_F32;
    return s;
}

/* ---- Blocks
 * ---------------------------------------------------------------------------------------- */

static const pgy_dtype NATIVE[] = {PGY_F32, PGY_F64, PGY_I64, PGY_U64};
static const size_t NATIVE_BYTES[] = {4, 8, 8, 8};

static const void *widened(work_type work, pgy_dtype dtype, const void *data, size_t start,
                           size_t n, void *room)
{
    if (dtype == NATIVE[work]) return (const char *)data + start * NATIVE_BYTES[work];
    arith_widen(work, room, dtype, data, start, n);
    return room;
}

static bool above_unsigned(uint64_t v, pgy_number tolerance)
{
    if (!tolerance.is_integer) return (double)v > tolerance.real;
    return tolerance.integer < 0 || v > (uint64_t)tolerance.integer;
}

static bool above_signed(int64_t v, pgy_number tolerance)
{
    return tolerance.is_integer ? v > tolerance.integer : (double)v > tolerance.real;
}

static bool above_real(double v, pgy_number tolerance)
{
    return v > tolerance.real || v != v;
}

static uint64_t magnitude(int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* The original's |a - b| in int32 or int64, with its wrap-around. */
static int64_t wrapped_difference(const source *s, int64_t a, int64_t b)
{
    if (s->wrap_i32) {
        int32_t d = (int32_t)((uint32_t)a - (uint32_t)b);
        return d < 0 ? (int32_t)(0 - (uint32_t)d) : d;
    }
    int64_t d = (int64_t)((uint64_t)a - (uint64_t)b);
    return d < 0 ? (int64_t)(0 - (uint64_t)d) : d;
}

static double wrapped_magnitude(const source *s, int64_t b)
{
    bool keeps = (s->wrap_i32 && b == INT32_MIN) || b == INT64_MIN;
    return keeps ? (double)b : (double)magnitude(b);
}

static void pair_signed(const source *s, const int64_t *a, const int64_t *b, size_t n, block *out)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t exact =
            a[i] > b[i] ? (uint64_t)a[i] - (uint64_t)b[i] : (uint64_t)b[i] - (uint64_t)a[i];
        int64_t original = wrapped_difference(s, a[i], b[i]);
        double reference = s->options.wrap ? wrapped_magnitude(s, b[i]) : (double)magnitude(b[i]);
        bool bad = s->options.wrap ? above_signed(original, s->options.atol)
                                   : above_unsigned(exact, s->options.atol);
        double difference = s->options.wrap ? (double)original : (double)exact;
        double relative = difference / reference;
        if (s->options.wrap)
            out->out[0].i64[i] = original;
        else
            out->out[0].u64[i] = exact;
        out->out[1].f64[i] = relative;
        out->counts.mismatched += bad && above_real(relative, s->options.rtol);
        out->counts.wrapped +=
            original < 0 || (uint64_t)original != exact || wrapped_magnitude(s, b[i]) < 0;
    }
}

static void pair_unsigned(const source *s, const uint64_t *a, const uint64_t *b, size_t n,
                          block *out)
{
    for (size_t i = 0; i < n; i++) {
        bool below = a[i] < b[i];
        uint64_t d = below && !s->options.wrap ? b[i] - a[i] : a[i] - b[i];
        double relative = (double)d / (double)b[i];
        out->out[0].u64[i] = d;
        out->out[1].f64[i] = relative;
        out->counts.mismatched +=
            above_unsigned(d, s->options.atol) && above_real(relative, s->options.rtol);
        out->counts.wrapped += below;
    }
}

/* int64 against uint64: NumPy subtracts in float64, but the exact difference needs 65 bits. */
static void pair_mixed(const source *s, size_t start, size_t n, block *out)
{
    bool first_unsigned = s->a_dtype == PGY_U64;
    const uint64_t *u = (const uint64_t *)(first_unsigned ? s->a : s->b) + start;
    arith_widen(WORK_I64, out->a.i64, first_unsigned ? s->b_dtype : s->a_dtype,
                first_unsigned ? s->b : s->a, start, n);
    for (size_t i = 0; i < n; i++) {
        int64_t v = out->a.i64[i];
        __int128 d = (__int128)u[i] - v;
        double exact = (double)(d < 0 ? -d : d), original = fabs((double)u[i] - (double)v);
        double difference = s->options.wrap ? original : exact;
        double reference = first_unsigned ? (double)magnitude(v) : (double)u[i];
        double relative = difference / reference;
        out->out[0].f64[i] = difference;
        out->out[1].f64[i] = relative;
        out->counts.mismatched +=
            above_real(difference, s->options.atol) && above_real(relative, s->options.rtol);
        out->counts.wrapped += original != exact;
    }
}

static void fill_integers(const source *s, size_t start, size_t n, block *out)
{
    if (s->mixed_u64) {
        pair_mixed(s, start, n, out);
        return;
    }
    const void *a = widened(s->common, s->a_dtype, s->a, start, n, &out->a);
    const void *b = widened(s->common, s->b_dtype, s->b, start, n, &out->b);
    if (s->common == WORK_U64)
        pair_unsigned(s, a, b, n, out);
    else
        pair_signed(s, a, b, n, out);
}

static double complex_part(pgy_dtype dtype, const void *data, size_t i, int part)
{
    if (dtype == PGY_C64) return ((const float *)data)[2 * i + (size_t)part];
    if (dtype == PGY_C128) return ((const double *)data)[2 * i + (size_t)part];
    double v;
    arith_widen(WORK_F64, &v, dtype, data, i, 1);
    return part ? 0 : v;
}

/* Complex numbers: the relative difference is the magnitude of the difference over the magnitude of
 * the reference. */
static void fill_complex(const source *s, size_t start, size_t n, block *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = start + i;
        double re = complex_part(s->a_dtype, s->a, k, 0) - complex_part(s->b_dtype, s->b, k, 0);
        double im = complex_part(s->a_dtype, s->a, k, 1) - complex_part(s->b_dtype, s->b, k, 1);
        double reference =
            hypot(complex_part(s->b_dtype, s->b, k, 0), complex_part(s->b_dtype, s->b, k, 1));
        if (reference == 0 && s->float_reference) {
            reference = 0x1p-52;
            out->counts.zeros++;
        }
        double d = hypot(re, im);
        if (s->common == WORK_F32) d = (double)(float)d;
        double relative = d / reference;
        if (s->common == WORK_F32) {
            relative = (double)(float)relative;
            out->out[0].f32[i] = (float)d;
            out->out[1].f32[i] = (float)relative;
        } else {
            out->out[0].f64[i] = d;
            out->out[1].f64[i] = relative;
        }
        out->counts.mismatched +=
            above_real(d, s->options.atol) && above_real(relative, s->options.rtol);
    }
}

/* A float against int64 or uint64: NumPy rounds the integers to float64 first. */
static void fill_float_meets_i64(const source *s, size_t start, size_t n, block *out)
{
    arith_widen(WORK_F64, out->a.f64, s->a_dtype, s->a, start, n);
    arith_widen(WORK_F64, out->b.f64, s->b_dtype, s->b, start, n);
    for (size_t i = 0; i < n; i++) {
        double original = fabs(out->a.f64[i] - out->b.f64[i]);
        double exact = arith_mixed_difference(s->a_dtype, s->a, s->b_dtype, s->b, start + i);
        double difference = s->options.wrap ? original : exact, reference = fabs(out->b.f64[i]);
        if (reference == 0 && s->float_reference) {
            reference = 0x1p-52;
            out->counts.zeros++;
        }
        double relative = difference / reference;
        out->out[0].f64[i] = difference;
        out->out[1].f64[i] = relative;
        out->counts.mismatched +=
            above_real(difference, s->options.atol) && above_real(relative, s->options.rtol);
        out->counts.wrapped += original != exact && exact == exact;
    }
}

/* The smallest signed reference has no magnitude in its type: the original divides floats by the
 * negative number. */
static void divide_by_minimum(const source *s, size_t start, size_t n, block *out)
{
    int64_t minimum = s->b_dtype == PGY_I32 ? INT32_MIN : INT64_MIN, v;
    if (s->b_dtype != PGY_I32 && s->b_dtype != PGY_I64) return;
    for (size_t i = 0; i < n; i++) {
        arith_widen(WORK_I64, &v, s->b_dtype, s->b, start + i, 1);
        if (v != minimum) continue;
        out->counts.wrapped++;
        if (!s->options.wrap) continue;
        double d = out->out[0].f64[i], r = out->out[1].f64[i];
        bool bad = above_real(d, s->options.atol);
        out->out[1].f64[i] = -r;
        out->counts.mismatched -= bad && above_real(r, s->options.rtol);
        out->counts.mismatched += bad && above_real(-r, s->options.rtol);
    }
}

static void fill_pair(const source *s, size_t start, size_t n, block *out)
{
    const block_kernels *k = block_kernels_best();
    out->values[0] = &out->out[0];
    out->values[1] = &out->out[1];
    if (arith_is_complex(s->a_dtype) || arith_is_complex(s->b_dtype)) {
        fill_complex(s, start, n, out);
        return;
    }
    if (s->common == WORK_I64 || s->common == WORK_U64) {
        fill_integers(s, start, n, out);
        return;
    }
    if (s->float_meets_i64) {
        fill_float_meets_i64(s, start, n, out);
        divide_by_minimum(s, start, n, out);
        return;
    }
    const void *a = widened(s->common, s->a_dtype, s->a, start, n, &out->a);
    const void *b = widened(s->common, s->b_dtype, s->b, start, n, &out->b);
    if (s->common == WORK_F32)
        out->counts.mismatched +=
            k->pair_f32(out->out[0].f32, out->out[1].f32, &out->counts.zeros, a, b, n, s);
    else
        out->counts.mismatched +=
            k->pair_f64(out->out[0].f64, out->out[1].f64, &out->counts.zeros, a, b, n, s);
    if (s->common == WORK_F64) divide_by_minimum(s, start, n, out);
}

void source_fill(const source *s, size_t start, size_t n, block *out)
{
    if (s->is_pair)
        fill_pair(s, start, n, out);
    else
        out->values[0] = widened(s->streams[0].work, s->a_dtype, s->a, start, n, &out->a);
}

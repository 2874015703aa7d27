/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the metrics, block by block. Floats are squared and summed in float64; products are
 * formed in the type of the inputs, in NumPy's order. Integers are exact up to 64 bits, also
 * against floats; `wrap` repeats the original's overflow. */
#include "compare/metric_sums.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

/* Integer sums over one block, exact as long as 64 bits hold each integer. */
typedef struct int_sums {
    long double dd, aa, bb, ab;
} int_sums;

/* Integer sums with the original's overflow: int64 modulo 2^64, but squares of uint64 in float64.
 */
typedef struct wrapped_sums {
    uint64_t dd, aa, bb, ab;
    double mean_dd, mean_aa, mean_bb;
} wrapped_sums;

typedef struct metric_run {
    source s; /* holds both arrays; its differences are unused */
    work_type common;
    size_t mean_count;
    bool wrap, wrap_i32;
    bool exact; /* compute exactly, because float64 cannot hold one array's integers */
    double *dd, *aa, *bb, *ab64, *high;
    float *ab;
    bool *nan;
    int_sums *ints;
    wrapped_sums *wrapped;
} metric_run;

/* ---- One block
 * --------------------------------------------------------------------------------------- */

static double square(double v)
{
    return v * v;
}

static void visit_floats(block *b, const block_place *at, void *user)
{
    metric_run *run = user;
    const block_kernels *k = block_kernels_best();
    block_range range;
    double *out = b->out[0].f64;
    if (run->common == WORK_F32) {
        float *x = b->a.f32, *y = b->b.f32, *product = b->out[1].f32;
        arith_widen(WORK_F32, x, run->s.a_dtype, run->s.a, at->start, at->count);
        arith_widen(WORK_F32, y, run->s.b_dtype, run->s.b, at->start, at->count);
        for (size_t i = 0; i < at->count; i++) product[i] = x[i] * y[i];
        run->ab[at->index] = k->sum_f32(product, at->count);
        for (size_t i = 0; i < at->count; i++) out[i] = square((double)(x[i] - y[i]));
        run->dd[at->index] = k->sum_f64(out, at->count);
        for (size_t i = 0; i < at->count; i++) out[i] = square((double)x[i]);
        run->aa[at->index] = k->sum_f64(out, at->count);
        for (size_t i = 0; i < at->count; i++) out[i] = square((double)y[i]);
        run->bb[at->index] = k->sum_f64(out, at->count);
        k->range_f32(&range, x, at->count);
    } else {
        double *x = b->a.f64, *y = b->b.f64;
        arith_widen(WORK_F64, x, run->s.a_dtype, run->s.a, at->start, at->count);
        arith_widen(WORK_F64, y, run->s.b_dtype, run->s.b, at->start, at->count);
        for (size_t i = 0; i < at->count; i++) out[i] = x[i] * y[i];
        run->ab64[at->index] = k->sum_f64(out, at->count);
        for (size_t i = 0; i < at->count; i++)
            out[i] =
                square(run->exact ? arith_mixed_difference(run->s.a_dtype, run->s.a, run->s.b_dtype,
                                                           run->s.b, at->start + i)
                                  : x[i] - y[i]);
        run->dd[at->index] = k->sum_f64(out, at->count);
        run->aa[at->index] = k->deviation_f64(x, at->count, 0);
        run->bb[at->index] = k->deviation_f64(y, at->count, 0);
        k->range_f64(&range, x, at->count);
    }
    run->high[at->index] = range.high;
    run->nan[at->index] = range.nan;
}

/* Squares one integer side of a mixed pair in int64, as the original does. */
static void wrap_squares(uint64_t *sum, double *mean, pgy_dtype dtype, const void *data,
                         const block_place *at)
{
    for (size_t i = at->start; i < at->start + at->count; i++) {
        uint64_t v;
        arith_widen(WORK_I64, &v, dtype, data, i, 1);
        *sum += v * v;
        *mean += (double)(int64_t)(v * v);
    }
}

static bool squares_wrap(const metric_run *run, pgy_dtype dtype)
{
    return run->wrap && pgy_dtype_is_integer(dtype) && dtype != PGY_U64;
}

static void visit_mixed(block *b, const block_place *at, void *user)
{
    metric_run *run = user;
    wrapped_sums t = {0};
    visit_floats(b, at, user);
    if (squares_wrap(run, run->s.a_dtype))
        wrap_squares(&t.aa, &t.mean_aa, run->s.a_dtype, run->s.a, at);
    if (squares_wrap(run, run->s.b_dtype))
        wrap_squares(&t.bb, &t.mean_bb, run->s.b_dtype, run->s.b, at);
    run->wrapped[at->index] = t;
}

static long double as_exact(pgy_dtype dtype, const void *data, size_t i)
{
    if (dtype == PGY_U64) return (long double)((const uint64_t *)data)[i];
    int64_t v;
    arith_widen(WORK_I64, &v, dtype, data, i, 1);
    return (long double)v;
}

static void visit_integers(block *b, const block_place *at, void *user)
{
    metric_run *run = user;
    int_sums t = {0};
    double high = -INFINITY;
    (void)b;
    for (size_t i = at->start; i < at->start + at->count; i++) {
        long double x = as_exact(run->s.a_dtype, run->s.a, i);
        long double y = as_exact(run->s.b_dtype, run->s.b, i);
        t.dd += (x - y) * (x - y);
        t.aa += x * x;
        t.bb += y * y;
        t.ab += x * y;
        if ((double)x > high) high = (double)x;
    }
    run->ints[at->index] = t;
    run->high[at->index] = high;
}

/* int64, or int32 where both sides widen to it: differences and products wrap there, squares in
 * int64. */
static void visit_wrapped_signed(block *b, const block_place *at, void *user)
{
    metric_run *run = user;
    wrapped_sums t = {0};
    double high = -INFINITY;
    arith_widen(WORK_I64, b->a.i64, run->s.a_dtype, run->s.a, at->start, at->count);
    arith_widen(WORK_I64, b->b.i64, run->s.b_dtype, run->s.b, at->start, at->count);
    for (size_t i = 0; i < at->count; i++) {
        uint64_t x = (uint64_t)b->a.i64[i], y = (uint64_t)b->b.i64[i], d = x - y, p = x * y;
        if (run->wrap_i32) d = (uint64_t)(int64_t)(int32_t)(uint32_t)d;
        if (run->wrap_i32) p = (uint64_t)(int64_t)(int32_t)(uint32_t)p;
        t.dd += d * d;
        t.aa += x * x;
        t.bb += y * y;
        t.ab += p;
        t.mean_dd += (double)(int64_t)(d * d);
        t.mean_aa += (double)(int64_t)(x * x);
        if ((double)b->a.i64[i] > high) high = (double)b->a.i64[i];
    }
    run->wrapped[at->index] = t;
    run->high[at->index] = high;
}

static void visit_wrapped_unsigned(block *b, const block_place *at, void *user)
{
    metric_run *run = user;
    wrapped_sums t = {0};
    double high = -INFINITY;
    arith_widen(WORK_U64, b->a.u64, run->s.a_dtype, run->s.a, at->start, at->count);
    arith_widen(WORK_U64, b->b.u64, run->s.b_dtype, run->s.b, at->start, at->count);
    for (size_t i = 0; i < at->count; i++) {
        uint64_t x = b->a.u64[i], y = b->b.u64[i];
        t.ab += x * y;
        t.mean_dd += square((double)(x - y));
        t.mean_aa += square((double)x);
        t.mean_bb += square((double)y);
        if ((double)x > high) high = (double)x;
    }
    run->wrapped[at->index] = t;
    run->high[at->index] = high;
}

/* ---- All blocks
 * -------------------------------------------------------------------------------------- */

static void join_floats(metric_sums *out, const metric_run *run)
{
    size_t n = run->s.count;
    out->dd = out->mean_dd = arith_join_f64(run->dd, n, true);
    out->aa = out->mean_aa = arith_join_f64(run->aa, n, true);
    out->bb = arith_join_f64(run->bb, n, true);
    out->ab = run->common == WORK_F32 ? (double)arith_join_f32(run->ab, n, true)
                                      : arith_join_f64(run->ab64, n, true);
}

static void join_mixed(metric_sums *out, const metric_run *run, size_t blocks)
{
    wrapped_sums t = {0};
    for (size_t i = 0; i < blocks; i++) {
        t.aa += run->wrapped[i].aa;
        t.bb += run->wrapped[i].bb;
        t.mean_aa += run->wrapped[i].mean_aa;
    }
    if (squares_wrap(run, run->s.a_dtype)) out->aa = (double)(int64_t)t.aa;
    if (squares_wrap(run, run->s.a_dtype)) out->mean_aa = t.mean_aa;
    if (squares_wrap(run, run->s.b_dtype)) out->bb = (double)(int64_t)t.bb;
}

static void join_integers(metric_sums *out, const metric_run *run, size_t blocks)
{
    int_sums t = {0};
    for (size_t i = 0; i < blocks; i++) {
        t.dd += run->ints[i].dd;
        t.aa += run->ints[i].aa;
        t.bb += run->ints[i].bb;
        t.ab += run->ints[i].ab;
    }
    *out = (metric_sums){
        .dd = (double)t.dd, .aa = (double)t.aa, .bb = (double)t.bb, .ab = (double)t.ab};
    out->mean_dd = out->dd;
    out->mean_aa = out->aa;
}

static void join_wrapped(metric_sums *out, const metric_run *run, size_t blocks)
{
    wrapped_sums t = {0};
    for (size_t i = 0; i < blocks; i++) {
        const wrapped_sums *w = &run->wrapped[i];
        t.dd += w->dd;
        t.aa += w->aa;
        t.bb += w->bb;
        t.ab += w->ab;
        t.mean_dd += w->mean_dd;
        t.mean_aa += w->mean_aa;
        t.mean_bb += w->mean_bb;
    }
    if (run->common == WORK_U64)
        *out = (metric_sums){.dd = t.mean_dd, .aa = t.mean_aa, .bb = t.mean_bb, .ab = (double)t.ab};
    else
        *out = (metric_sums){.dd = (double)(int64_t)t.dd,
                             .aa = (double)(int64_t)t.aa,
                             .bb = (double)(int64_t)t.bb,
                             .ab = (double)(int64_t)t.ab};
    out->mean_dd = t.mean_dd;
    out->mean_aa = t.mean_aa;
}

static bool make_room(metric_run *run, size_t blocks)
{
    run->dd = mem_calloc(blocks + 1, sizeof *run->dd);
    run->aa = mem_calloc(blocks + 1, sizeof *run->aa);
    run->bb = mem_calloc(blocks + 1, sizeof *run->bb);
    run->ab64 = mem_calloc(blocks + 1, sizeof *run->ab64);
    run->ab = mem_calloc(blocks + 1, sizeof *run->ab);
    run->high = mem_calloc(blocks + 1, sizeof *run->high);
    run->nan = mem_calloc(blocks + 1, sizeof *run->nan);
    run->ints = mem_calloc(blocks + 1, sizeof *run->ints);
    run->wrapped = mem_calloc(blocks + 1, sizeof *run->wrapped);
    return run->dd && run->aa && run->bb && run->ab64 && run->ab && run->high && run->nan &&
           run->ints && run->wrapped;
}

static block_visit choose_visit(const metric_run *run)
{
    if (run->common == WORK_F32 || run->common == WORK_F64)
        return run->wrap ? visit_mixed : visit_floats;
    if (!run->wrap) return visit_integers;
    return run->common == WORK_U64 ? visit_wrapped_unsigned : visit_wrapped_signed;
}

static void join(metric_sums *out, const metric_run *run, size_t blocks)
{
    if (run->common == WORK_F32 || run->common == WORK_F64) {
        join_floats(out, run);
        join_mixed(out, run, blocks);
    } else if (run->wrap)
        join_wrapped(out, run, blocks);
    else
        join_integers(out, run, blocks);
    out->high = -INFINITY;
    for (size_t i = 0; i < blocks; i++) {
        if (run->high[i] > out->high) out->high = run->high[i];
        out->nan |= run->nan[i];
    }
    if (out->nan) out->high = NAN;
}

static pgy_status take_blocks(metric_sums *out, metric_run *run, pgy_error *err)
{
    size_t *starts = NULL, blocks;
    pgy_status st = arith_partition(&starts, &blocks, run->s.count, true, err);
    if (st) return st;
    if (make_room(run, blocks))
        st = arith_each(NULL, &run->s, starts, blocks, choose_visit(run), run, err);
    else
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for a metric of %zu elements",
                           run->s.count);
    if (!st) join(out, run, blocks);
    mem_free(run->dd);
    mem_free(run->aa);
    mem_free(run->bb);
    mem_free(run->ab64);
    mem_free(run->ab);
    mem_free(run->high);
    mem_free(run->nan);
    mem_free(run->ints);
    mem_free(run->wrapped);
    mem_free(starts);
    return st;
}

/* ---- Arrays */

bool metric_is_complex(const pgy_tensor *t)
{
    return pgy_tensor_dtype(t) == PGY_C64 || pgy_tensor_dtype(t) == PGY_C128;
}

static void set_up(metric_run *run, const pgy_tensor *a, const pgy_tensor *b, bool wrap)
{
    *run = (metric_run){.wrap = wrap, .mean_count = pgy_tensor_count(a)};
    pgy_dtype x = pgy_tensor_dtype(a), y = pgy_tensor_dtype(b);
    source *s = &run->s;
    bool complex = metric_is_complex(a);
    if (complex) x = x == PGY_C64 ? PGY_F32 : PGY_F64;
    if (complex) y = y == PGY_C64 ? PGY_F32 : PGY_F64;
    s->count = run->mean_count * (complex ? 2 : 1);
    s->a = pgy_tensor_data(a);
    s->b = pgy_tensor_data(b);
    s->a_dtype = x;
    s->b_dtype = y;
    bool floating = pgy_dtype_is_float(x) || pgy_dtype_is_float(y);
    bool u64 = x == PGY_U64 || y == PGY_U64,
         same_u64 = u64 && (x == y || x == PGY_BOOL || y == PGY_BOOL);
    run->common = floating ? arith_common_float(x, y) : same_u64 ? WORK_U64 : WORK_I64;
    run->exact = !wrap && arith_float_meets_i64(x, y);
    /* The original mixes uint64 with signed integers as float64. */
    if (wrap && u64 && !same_u64) run->common = WORK_F64;
    if (x == PGY_BOOL && y == PGY_BOOL) run->common = WORK_F64;
    run->wrap_i32 = (arith_is_int32(x) || x == PGY_BOOL) && (arith_is_int32(y) || y == PGY_BOOL);
}

pgy_status metric_sums_take(metric_sums *out, const pgy_tensor *a, const pgy_tensor *b, bool wrap,
                            pgy_error *err)
{
    metric_run run;
    *out = (metric_sums){0};
    set_up(&run, a, b, wrap);
    return run.s.count ? take_blocks(out, &run, err) : PGY_OK;
}

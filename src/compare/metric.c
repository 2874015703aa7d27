/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with one number per output: L2 norm, cosine similarity, PSNR and SNR. LPIPS needs a
 * neural network that this library does not have, so it fails with a message that says so.
 *
 * Floats are squared and summed in float64; products are formed in the type of the inputs, in
 * NumPy's order. Integers are exact up to 64 bits, also against floats; `wrap` repeats the
 * original's overflow. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/pytext.h"
#include "compare/arith.h"
#include "compare/compare.h"
#include "compare/judge.h"

static const char LOG_PATH[] = "comparator/compare.py";

typedef struct sums {
    double dd, aa, bb, ab;   /* sums of (a-b)^2, a^2, b^2, a*b */
    double mean_dd, mean_aa; /* equal to dd and aa, except where the original's sums overflow and
                                its means do not */
    double high;             /* the largest element of a */
    bool nan;                /* a has a NaN */
} sums;

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

static void join_floats(sums *out, const metric_run *run)
{
    size_t n = run->s.count;
    out->dd = out->mean_dd = arith_join_f64(run->dd, n, true);
    out->aa = out->mean_aa = arith_join_f64(run->aa, n, true);
    out->bb = arith_join_f64(run->bb, n, true);
    out->ab = run->common == WORK_F32 ? (double)arith_join_f32(run->ab, n, true)
                                      : arith_join_f64(run->ab64, n, true);
}

static void join_mixed(sums *out, const metric_run *run, size_t blocks)
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

static void join_integers(sums *out, const metric_run *run, size_t blocks)
{
    int_sums t = {0};
    for (size_t i = 0; i < blocks; i++) {
        t.dd += run->ints[i].dd;
        t.aa += run->ints[i].aa;
        t.bb += run->ints[i].bb;
        t.ab += run->ints[i].ab;
    }
    *out = (sums){.dd = (double)t.dd, .aa = (double)t.aa, .bb = (double)t.bb, .ab = (double)t.ab};
    out->mean_dd = out->dd;
    out->mean_aa = out->aa;
}

static void join_wrapped(sums *out, const metric_run *run, size_t blocks)
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
        *out = (sums){.dd = t.mean_dd, .aa = t.mean_aa, .bb = t.mean_bb, .ab = (double)t.ab};
    else
        *out = (sums){.dd = (double)(int64_t)t.dd,
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

static void join(sums *out, const metric_run *run, size_t blocks)
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

static pgy_status take_sums(sums *out, metric_run *run, pgy_error *err)
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

/* ---- The numbers
 * ------------------------------------------------------------------------------------- */

static double cosine(const sums *t)
{
    double a = sqrt(t->aa), b = sqrt(t->bb);
    if (a == 0 && b == 0) return 1;
    if (a == 0 || b == 0) return 0;
    double c = t->ab / (a * b);
    return c > 1 ? 1 : c < -1 ? -1 : c;
}

static double psnr(const sums *t, double n)
{
    double mse = t->mean_dd / n, high = t->high;
    if (n == 0) return NAN;
    if (mse == 0) return INFINITY;
    if (high <= 0) high = 1;
    return 20 * log10(high) - 10 * log10(mse);
}

static double snr(const sums *t, double n)
{
    double noise = t->mean_dd / n, signal = t->mean_aa / n;
    if (n == 0) return NAN;
    if (noise == 0) return INFINITY;
    if (signal == 0) return -INFINITY;
    return 10 * log10(signal / noise);
}

static double metric_value(pgy_compare_kind kind, const sums *t, size_t count)
{
    switch (kind) {
    case PGY_COMPARE_L2: return sqrt(t->dd);
    case PGY_COMPARE_COSINE_SIMILARITY: return cosine(t);
    case PGY_COMPARE_PSNR: return psnr(t, (double)count);
    default: return snr(t, (double)count);
    }
}

static bool is_complex(const pgy_tensor *t)
{
    return pgy_tensor_dtype(t) == PGY_C64 || pgy_tensor_dtype(t) == PGY_C128;
}

/* Two narrow arrays of equal shape. Complex ones count as pairs of reals. */
static void set_up(metric_run *run, const pgy_tensor *a, const pgy_tensor *b, bool wrap)
{
    *run = (metric_run){.wrap = wrap, .mean_count = pgy_tensor_count(a)};
    pgy_dtype x = pgy_tensor_dtype(a), y = pgy_tensor_dtype(b);
    source *s = &run->s;
    bool complex = is_complex(a);
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

static pgy_status compute(double *out, pgy_compare_kind kind, const pgy_tensor *a,
                          const pgy_tensor *b, bool wrap, pgy_error *err)
{
    metric_run run;
    sums t = {0};
    set_up(&run, a, b, wrap);
    if (run.s.count) {
        pgy_status st = take_sums(&t, &run, err);
        if (st) return st;
    }
    *out = metric_value(kind, &t, run.mean_count);
    return PGY_OK;
}

/* ---- Text
 * -------------------------------------------------------------------------------------------- */

/* Prints the fewest digits, but at least 5, that make value and threshold differ. */
static void append_pair(str *value, str *threshold, double v, double t)
{
    for (int digits = 5; digits <= 17; digits++) {
        str_clear(value);
        str_clear(threshold);
        str_append_g(value, digits, v);
        str_append_g(threshold, digits, t);
        if (v == t || strcmp(str_text(value), str_text(threshold))) return;
    }
}

void metric_line(str *out, const pgy_verdict *v)
{
    const compare_kind_row *row = compare_kind_find(v->kind);
    str value = {0}, threshold = {0};
    append_pair(&value, &threshold, v->metric, v->threshold.real);
    str_printf(out, "%s: %s%s (%s: %s%s) | %s", row->label,
               v->verified ? str_text(&value) : "not verified", v->verified ? row->unit : "",
               row->bound, str_text(&threshold), row->unit, v->passed ? "PASSED" : "FAILED");
    str_deinit(&value);
    str_deinit(&threshold);
}

static void log_line(const pgy_verdict *v)
{
    str line = {0};
    metric_line(&line, v);
    pgy_log_write(v->passed ? PGY_LOG_FINISH : PGY_LOG_ERROR, LOG_PATH, __LINE__, "%s",
                  str_text(&line));
    str_deinit(&line);
}

/* ---- Comparing
 * --------------------------------------------------------------------------------------- */

static void refuse_lpips(pgy_verdict *v, const compare_job *job)
{
    v->has_metrics = true;
    v->verified = false;
    v->metric = NAN;
    v->passed = job->compat;
    if (job->compat)
        LOG(WARNING,
            "LPIPS needs torch and the lpips package and was not computed for output '%s'; as the "
            "original does, this "
            "output is treated as a PASS, so its accuracy was NOT verified.",
            job->a.output);
    else
        LOG(ERROR,
            "FAILED | Output: '%s' | LPIPS needs torch and the lpips package and was not verified",
            job->a.output);
}

static pgy_status warn_wrapped(const pgy_verdict *v, const compare_job *job, const pgy_tensor *a,
                               const pgy_tensor *b, pgy_error *err)
{
    if (!pgy_dtype_is_integer(pgy_tensor_dtype(a)) && !pgy_dtype_is_integer(pgy_tensor_dtype(b)))
        return PGY_OK;
    pgy_verdict other = *v;
    pgy_status st = compute(&other.metric, v->kind, a, b, !job->compat, err);
    if (st) return st;
    verdict_judge(&other);
    if (other.passed == v->passed) return PGY_OK;
    const pgy_verdict *exact = job->compat ? &other : v, *original = job->compat ? v : &other;
    LOG(WARNING,
        "Output: '%s' | Integers overflow in the original's %s: the original's verdict is %s, but "
        "the exact value %g means %s.%s",
        job->a.output, compare_kind_find(v->kind)->label, original->passed ? "PASSED" : "FAILED",
        exact->metric, exact->passed ? "PASSED" : "FAILED",
        job->compat ? " The original's verdict counts." : "");
    return PGY_OK;
}

/* Converts both sides to types that the sums accept. Complex numbers are compared only with complex
 * numbers of the same width. */
static pgy_status narrow(pgy_tensor **x, pgy_tensor **y, pgy_tensor *a, pgy_tensor *b,
                         pgy_error *err)
{
    if (is_complex(a) || is_complex(b)) {
        pgy_status st = pgy_tensor_cast(x, pgy_tensor_view(a), PGY_C128, err);
        return st ? st : pgy_tensor_cast(y, pgy_tensor_view(b), PGY_C128, err);
    }
    pgy_status st = arith_compact(x, a, err);
    return st ? st : arith_compact(y, b, err);
}

pgy_status metric_of(double *out, pgy_compare_kind kind, pgy_tensor *a, pgy_tensor *b,
                     pgy_error *err)
{
    pgy_tensor *x = NULL, *y = NULL;
    pgy_status st = narrow(&x, &y, a, b, err);
    if (!st) st = compute(out, kind, x, y, false, err);
    pgy_tensor_release(x);
    pgy_tensor_release(y);
    return st;
}

pgy_status metric_compare(pgy_verdict *v, const compare_job *job, pgy_error *err)
{
    const pgy_compare_options *o = &job->compare->options;
    pgy_tensor *a = NULL, *b = NULL, *x = NULL, *y = NULL;
    bool same;
    v->kind = o->kind;
    v->verified = true;
    v->threshold = compare_number(&o->threshold, job->a.output, job_partner(job),
                                  compare_real(compare_kind_find(o->kind)->threshold));
    LOG(EXTRA_VERBOSE, "Note: Comparing %s vs. %s", job->a.runner, job->b.runner);
    pgy_status st = compare_match_shapes(&same, &a, &b, job, err);
    if (st || !same) goto done;
    if (o->kind == PGY_COMPARE_LPIPS) {
        refuse_lpips(v, job);
        goto done;
    }
    if (pgy_tensor_dtype(a) == PGY_STRING || pgy_tensor_dtype(b) == PGY_STRING) {
        LOG(ERROR, "FAILED | Output: '%s' | Strings have no %s", job->a.output,
            compare_kind_find(o->kind)->label);
        goto done;
    }
    st = narrow(&x, &y, a, b, err);
    if (!st) st = compute(&v->metric, o->kind, x, y, job->compat, err);
    if (st) goto done;
    v->has_metrics = true;
    verdict_judge(v);
    log_line(v);
    st = warn_wrapped(v, job, x, y, err);
done:
    pgy_tensor_release(a);
    pgy_tensor_release(b);
    pgy_tensor_release(x);
    pgy_tensor_release(y);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics in a few passes over the blocks of a source. The first pass collects sums, ranges and
 * NaNs. From the second pass on, order statistics narrow their keys (select.h); the second also
 * sums squared deviations from the mean. Sums are kept per block and joined in order, so the result
 * does not depend on which thread takes which block. */
#include "compare/stats.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "compare/select.h"
#include "tensor/convert.h"

typedef struct partial {
    uint64_t low, high; /* keys (select.h) of the smallest and the largest element */
    bool nan;
} partial;

typedef struct stream_run {
    stream info;
    partial *parts;         /* indexed by block: range and NaNs */
    float *sums, *abs_sums; /* indexed by block: sums for mean and avg_magnitude */
    double *sums64;         /* indexed by block: sums for float64 and integer streams */
    float *dev;
    double *dev64;
    float mean;
    double mean64;
    selection *select;      /* NULL: no order statistics requested */
    select_counts **counts; /* indexed by task: counters of keys */
} stream_run;

typedef struct stats_run {
    const source *s;
    size_t *starts;
    size_t blocks, tasks;
    bool deviation; /* this pass sums squared deviations, too */
    stream_run streams[ARITH_STREAMS];
    const block_kernels *kernels;
} stats_run;

/* ---- First pass
 * ------------------------------------------------------------------------------------- */

static void range_i64(partial *p, const int64_t *x, size_t n)
{
    int64_t low = x[0], high = x[0];
    for (size_t i = 1; i < n; i++) {
        if (x[i] < low) low = x[i];
        if (x[i] > high) high = x[i];
    }
    *p = (partial){select_key(WORK_I64, &low, 0), select_key(WORK_I64, &high, 0), false};
}

static void range_u64(partial *p, const uint64_t *x, size_t n)
{
    uint64_t low = x[0], high = x[0];
    for (size_t i = 1; i < n; i++) {
        if (x[i] < low) low = x[i];
        if (x[i] > high) high = x[i];
    }
    *p = (partial){low, high, false};
}

static void range_float(const stats_run *run, partial *p, work_type work, const void *x, size_t n)
{
    block_range r;
    if (work == WORK_F32) {
        run->kernels->range_f32(&r, x, n);
        float low = (float)r.low, high = (float)r.high;
        *p = (partial){select_key(work, &low, 0), select_key(work, &high, 0), r.nan};
    } else {
        run->kernels->range_f64(&r, x, n);
        *p = (partial){select_key(work, &r.low, 0), select_key(work, &r.high, 0), r.nan};
    }
}

static double sum_integers(work_type work, const void *x, size_t n)
{
    double sum = 0;
    if (work == WORK_I64)
        for (size_t i = 0; i < n; i++) sum += (double)((const int64_t *)x)[i];
    else
        for (size_t i = 0; i < n; i++) sum += (double)((const uint64_t *)x)[i];
    return sum;
}

static void take_sums(const stats_run *run, stream_run *r, size_t index, const void *x, size_t n)
{
    const block_kernels *k = run->kernels;
    float narrow[ARITH_BLOCK];
    const float *f = x;
    if (r->info.work == WORK_F64) {
        for (size_t i = 0; i < n; i++) narrow[i] = (float)((const double *)x)[i];
        r->sums64[index] = k->sum_f64(x, n);
    } else if (r->info.work == WORK_I64) {
        for (size_t i = 0; i < n; i++) narrow[i] = (float)((const int64_t *)x)[i];
        r->sums64[index] = sum_integers(r->info.work, x, n);
    } else if (r->info.work == WORK_U64) {
        for (size_t i = 0; i < n; i++) narrow[i] = (float)((const uint64_t *)x)[i];
        r->sums64[index] = sum_integers(r->info.work, x, n);
    }
    if (r->info.work != WORK_F32) f = narrow;
    r->sums[index] = k->sum_f32(f, n);
    r->abs_sums[index] = r->info.nonnegative ? r->sums[index] : k->abs_sum_f32(f, n);
}

static void visit_first(block *b, const block_place *at, void *user)
{
    stats_run *run = user;
    source_fill(run->s, at->start, at->count, b);
    for (size_t i = 0; i < run->s->stream_count; i++) {
        stream_run *r = &run->streams[i];
        const void *x = b->values[i];
        take_sums(run, r, at->index, x, at->count);
        switch (r->info.work) {
        case WORK_I64: range_i64(&r->parts[at->index], x, at->count); break;
        case WORK_U64: range_u64(&r->parts[at->index], x, at->count); break;
        default: range_float(run, &r->parts[at->index], r->info.work, x, at->count);
        }
    }
}

/* ---- Later passes
 * ------------------------------------------------------------------------------------ */

static double deviation_integers(work_type work, const void *x, size_t n, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double v =
            work == WORK_I64 ? (double)((const int64_t *)x)[i] : (double)((const uint64_t *)x)[i];
        sum += (v - mean) * (v - mean);
    }
    return sum;
}

static void take_deviation(const stats_run *run, stream_run *r, size_t index, const void *x,
                           size_t n)
{
    switch (r->info.work) {
    case WORK_F32: r->dev[index] = run->kernels->deviation_f32(x, n, r->mean); break;
    case WORK_F64: r->dev64[index] = run->kernels->deviation_f64(x, n, r->mean64); break;
    default: r->dev64[index] = deviation_integers(r->info.work, x, n, r->mean64);
    }
}

static void visit_later(block *b, const block_place *at, void *user)
{
    stats_run *run = user;
    bool filled = run->deviation;
    if (filled) source_fill(run->s, at->start, at->count, b);
    for (size_t i = 0; i < run->s->stream_count; i++) {
        stream_run *r = &run->streams[i];
        const partial *p = &r->parts[at->index];
        if (run->deviation) take_deviation(run, r, at->index, b->values[i], at->count);
        if (!r->select || selection_done(r->select)) continue;
        select_counts *c = r->counts[at->task];
        if (selection_count(r->select, c, filled ? b->values[i] : NULL, at->count, p->low, p->high))
            continue;
        source_fill(run->s, at->start, at->count, b);
        filled = true;
        selection_count(r->select, c, b->values[i], at->count, p->low, p->high);
    }
}

static void advance(stats_run *run, stream_run *r, select_totals *total)
{
    if (!r->select || selection_done(r->select)) return;
    for (size_t t = 0; t < run->tasks; t++) selection_collect(r->select, total, r->counts[t]);
    selection_advance(r->select, total);
}

/* ---- Setting up
 * -------------------------------------------------------------------------------------- */

static pgy_status no_memory(const source *s, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for statistics of %zu elements",
                         s->count);
}

static void free_stream(stream_run *r, size_t tasks)
{
    mem_free(r->parts);
    mem_free(r->sums);
    mem_free(r->abs_sums);
    mem_free(r->sums64);
    mem_free(r->dev);
    mem_free(r->dev64);
    mem_free(r->select);
    for (size_t i = 0; r->counts && i < tasks; i++) mem_free(r->counts[i]);
    mem_free(r->counts);
}

static pgy_status set_up_stream(stream_run *r, const stats_run *run, pgy_error *err)
{
    size_t n = run->blocks + 1;
    r->parts = mem_calloc(n, sizeof *r->parts);
    r->sums = mem_calloc(n, sizeof *r->sums);
    r->abs_sums = mem_calloc(n, sizeof *r->abs_sums);
    r->sums64 = mem_calloc(n, sizeof *r->sums64);
    r->dev = mem_calloc(n, sizeof *r->dev);
    r->dev64 = mem_calloc(n, sizeof *r->dev64);
    bool good = r->parts && r->sums && r->abs_sums && r->sums64 && r->dev && r->dev64;
    return good ? PGY_OK : no_memory(run->s, err);
}

/* Up to this many elements are sorted instead of selected. */
#define FEW 1024

static pgy_status add_sorted(stream_run *r, const stats_run *run, size_t stream_index, block *b,
                             const uint64_t *ranks, size_t count, pgy_error *err)
{
    uint64_t keys[FEW];
    r->select = mem_alloc(sizeof *r->select);
    if (!r->select) return no_memory(run->s, err);
    source_fill(run->s, 0, run->s->count, b);
    for (size_t i = 0; i < run->s->count; i++)
        keys[i] = select_key(r->info.work, b->values[stream_index], i);
    selection_init_sorted(r->select, r->info.work, keys, run->s->count, ranks, count);
    return PGY_OK;
}

static pgy_status add_selection(stream_run *r, const stats_run *run, uint64_t low, uint64_t high,
                                const uint64_t *ranks, size_t count, pgy_error *err)
{
    r->select = mem_alloc(sizeof *r->select);
    r->counts = mem_calloc(run->tasks, sizeof *r->counts);
    if (!r->select || !r->counts) return no_memory(run->s, err);
    for (size_t i = 0; i < run->tasks; i++) {
        r->counts[i] = mem_calloc(1, sizeof *r->counts[i]);
        if (!r->counts[i]) return no_memory(run->s, err);
    }
    selection_init(r->select, r->info.work, low, high, ranks, count);
    return PGY_OK;
}

static double raw_value(work_type work, const void *values, size_t i)
{
    if (work == WORK_F32) return (double)((const float *)values)[i];
    if (work == WORK_F64) return ((const double *)values)[i];
    return select_value(work, select_key(work, values, i));
}

/* Position and value of the first NaN, or of the first element with this key. */
static size_t find_first(double *value, const stats_run *run, size_t stream_index, block *b,
                         bool nan, bool high, uint64_t key)
{
    const stream_run *r = &run->streams[stream_index];
    work_type work = r->info.work;
    for (size_t i = 0; i < run->blocks; i++) {
        const partial *p = &r->parts[i];
        if (nan ? !p->nan : (high ? p->high : p->low) != key) continue;
        size_t n = run->starts[i + 1] - run->starts[i];
        source_fill(run->s, run->starts[i], n, b);
        for (size_t k = 0; k < n; k++) {
            *value = raw_value(work, b->values[stream_index], k);
            if (nan ? isnan(*value) : select_key(work, b->values[stream_index], k) == key)
                return run->starts[i] + k;
        }
    }
    return 0;
}

static void take_range(array_stats *out, const stats_run *run, size_t index, uint64_t *low,
                       uint64_t *high, block *b)
{
    const stream_run *r = &run->streams[index];
    *low = UINT64_MAX;
    *high = 0;
    for (size_t i = 0; i < run->blocks; i++) {
        const partial *p = &r->parts[i];
        out->has_nan |= p->nan;
        if (p->low < *low) *low = p->low;
        if (p->high > *high) *high = p->high;
    }
    if (out->has_nan) {
        out->min = out->max = out->median = NAN;
        out->min_at = out->max_at = find_first(&out->min, run, index, b, true, false, 0);
        for (size_t i = 0; i < STATS_QUANTILES; i++) out->quantiles[i] = NAN;
        return;
    }
    out->min_at = find_first(&out->min, run, index, b, false, false, *low);
    out->max_at = find_first(&out->max, run, index, b, false, true, *high);
}

static void take_means(array_stats *out, const stats_run *run, stream_run *r)
{
    size_t n = run->s->count;
    float sum = arith_join_f32(r->sums, n, run->s->tree);
    r->mean = (float)((double)sum / (double)n);
    r->mean64 = arith_join_f64(r->sums64, n, run->s->tree) / (double)n;
    out->mean = (double)r->mean;
    out->avg_magnitude =
        (double)(float)((double)arith_join_f32(r->abs_sums, n, run->s->tree) / (double)n);
}

static void take_variance(array_stats *out, const stats_run *run, const stream_run *r)
{
    double n = (double)run->s->count;
    if (r->info.work == WORK_F32) {
        float var = (float)((double)arith_join_f32(r->dev, run->s->count, run->s->tree) / n);
        out->var = (double)var;
        out->std = (double)sqrtf(var);
    } else {
        out->var = arith_join_f64(r->dev64, run->s->count, run->s->tree) / n;
        out->std = sqrt(out->var);
    }
}

/* ---- Order statistics
 * -------------------------------------------------------------------------------- */

static double virtual_index(double q, size_t n)
{
    return (double)(n - 1) * q;
}

static size_t wanted_ranks(uint64_t *ranks, const stats_request *request, size_t n)
{
    size_t count = 0;
    if (request->median) {
        ranks[count++] = (n - 1) / 2;
        ranks[count++] = n / 2;
    }
    for (size_t i = 0; i < request->quantile_count; i++) {
        double v = virtual_index(request->quantiles[i], n);
        bool last = v >= (double)(n - 1);
        ranks[count++] = last ? n - 1 : (uint64_t)v;
        ranks[count++] = last ? n - 1 : (uint64_t)v + 1;
    }
    return count;
}

static double round_to(pgy_dtype dtype, double v)
{
    if (dtype == PGY_F32 || dtype == PGY_C64) return (double)(float)v;
    return dtype == PGY_F16 ? float_round(PGY_F16, v, false) : v;
}

/* b - a, exact for 64-bit integers. */
static double distance(const selection *s, size_t a, size_t b)
{
    if (s->work == WORK_I64 || s->work == WORK_U64)
        return (double)(selection_key(s, b) - selection_key(s, a));
    return selection_result(s, b) - selection_result(s, a);
}

/* Linear interpolation as in NumPy 2: every step rounds to the array's own type, also where the
 * result is an element, so infinities give NaN. */
static double interpolate(const selection *s, pgy_dtype dtype, size_t at, double q, size_t n)
{
    double v = virtual_index(q, n), a = selection_result(s, at), b = selection_result(s, at + 1);
    double t = v - floor(v), d = round_to(dtype, distance(s, at, at + 1));
    if (t >= 0.5) return round_to(dtype, b - round_to(dtype, d * round_to(dtype, 1 - t)));
    return round_to(dtype, a + round_to(dtype, d * round_to(dtype, t)));
}

static void take_order(array_stats *out, const stream_run *r, const stats_request *request)
{
    const selection *s = r->select;
    size_t at = 0;
    if (request->median) {
        double a = selection_result(s, 0), b = selection_result(s, 1);
        if (s->work == WORK_F32)
            out->median = out->count % 2 ? a : (double)((float)((float)a + (float)b) / 2);
        else
            out->median = out->count % 2 ? a : (a + b) / 2;
        at = 2;
    }
    for (size_t i = 0; i < request->quantile_count; i++, at += 2)
        out->quantiles[i] =
            i == 3 && request->whole_quantile
                ? selection_result(s, at)
                : interpolate(s, r->info.dtype, at, request->quantiles[i], out->count);
}

/* ---- All together
 * ------------------------------------------------------------------------------------ */

static void set_empty(array_stats *out)
{
    out->mean = out->avg_magnitude = NAN;
    for (size_t i = 0; i < STATS_QUANTILES; i++) out->quantiles[i] = INFINITY;
}

static bool is_selecting(const stats_run *run)
{
    for (size_t i = 0; i < run->s->stream_count; i++)
        if (run->streams[i].select && !selection_done(run->streams[i].select)) return true;
    return false;
}

static pgy_status later_passes(stats_run *run, bool deviation, pgy_error *err)
{
    select_totals *total = NULL; /* several MB: not allocated for few elements */
    pgy_status st = PGY_OK;
    run->deviation = deviation;
    while (run->deviation || is_selecting(run)) {
        if (!total && is_selecting(run)) {
            total = mem_calloc(1, sizeof *total);
            if (!total) return no_memory(run->s, err);
        }
        st = arith_each(NULL, run->s, run->starts, run->blocks, visit_later, run, err);
        if (st) break;
        for (size_t i = 0; i < run->s->stream_count; i++) advance(run, &run->streams[i], total);
        run->deviation = false;
    }
    mem_free(total);
    return st;
}

static pgy_status summarise(array_stats *out, stats_run *run, const stats_request *request,
                            pgy_error *err)
{
    block *b = mem_alloc_aligned(64, sizeof *b);
    if (!b) return no_memory(run->s, err);
    b->counts = (pair_counts){0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < run->s->stream_count && !st; i++) {
        uint64_t low, high, ranks[SELECT_RANKS];
        take_range(&out[i], run, i, &low, &high, b);
        take_means(&out[i], run, &run->streams[i]);
        size_t count = wanted_ranks(ranks, request, run->s->count);
        if (!count || out[i].has_nan) continue;
        if (run->s->count <= FEW)
            st = add_sorted(&run->streams[i], run, i, b, ranks, count, err);
        else
            st = add_selection(&run->streams[i], run, low, high, ranks, count, err);
    }
    mem_free(b);
    return st;
}

pgy_status stats_compute(array_stats *out, pair_counts *counts, const source *s,
                         const stats_request *request, pgy_error *err)
{
    stats_run run = {.s = s, .kernels = block_kernels_best()};
    pair_counts none = {0};
    pgy_status st = PGY_OK;
    if (!counts) counts = &none;
    *counts = none;
    for (size_t i = 0; i < s->stream_count; i++) {
        out[i] = (array_stats){.count = s->count, .dtype = s->streams[i].dtype};
        if (!s->count) set_empty(&out[i]);
        run.streams[i].info = s->streams[i];
    }
    if (!s->count) return PGY_OK;
    st = arith_partition(&run.starts, &run.blocks, s->count, s->tree, err);
    if (st) return st;
    run.tasks = arith_tasks(run.blocks, s->count);
    for (size_t i = 0; i < s->stream_count; i++) {
        st = set_up_stream(&run.streams[i], &run, err);
        if (st) goto done;
    }
    st = arith_each(counts, s, run.starts, run.blocks, visit_first, &run, err);
    if (st) goto done;
    st = summarise(out, &run, request, err);
    if (st) goto done;
    st = later_passes(&run, request->deviation, err);
    if (st) goto done;
    for (size_t i = 0; i < s->stream_count; i++) {
        if (request->deviation) take_variance(&out[i], &run, &run.streams[i]);
        if (run.streams[i].select) take_order(&out[i], &run.streams[i], request);
    }
done:
    for (size_t i = 0; i < s->stream_count; i++) free_stream(&run.streams[i], run.tasks);
    mem_free(run.starts);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of slices. A slice counts as one observation, its centre, because runs of one slice
 * share the state of the machine. Intervals come from a bootstrap over slices, or over pairs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "perf/bench.h"
#include "perf/perf.h"

enum { RESAMPLES = 2000 };
/* A difference d is shown in 95 of 100 measurements if the interval's half width is d / 1.64: of
 * 99 %, (2.576 + 1.645) / 2.576 standard errors. */
static const double POWER_FACTOR = 1.64, SHOWN_EFFECT = 0.02;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- Rounds --------------------------------------------------------------------------------- */

pgy_status bench_rounds_find(bench_rounds *out, const pgy_bench *b, pgy_error *err)
{
    bench_rounds r = {.total = b->sides[0].count};
    for (size_t i = 1; i < b->count; i++)
        if (b->sides[i].count < r.total) r.total = b->sides[i].count;
    if (!r.total)
        return pgy_error_set(err, PGY_E_ARGUMENT, "no round is complete: a side has no slices");
    r.counts = mem_calloc(r.total, sizeof *r.counts);
    if (!r.counts) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t k = 0; k < r.total; k++) {
        r.counts[k] = true;
        for (size_t i = 0; i < b->count; i++)
            if (b->sides[i].slices[k].disturbed) r.counts[k] = false;
        r.counted += r.counts[k];
    }
    r.all = r.counted < BENCH_LEAST || r.counted * 2 < r.total;
    if (r.all) {
        memset(r.counts, 1, r.total * sizeof *r.counts);
        r.counted = r.total;
    }
    *out = r;
    return PGY_OK;
}

void bench_rounds_deinit(bench_rounds *r)
{
    mem_free(r->counts);
}

/* ---- Bootstrap ------------------------------------------------------------------------------ */

typedef struct sample {
    double *values;
    size_t count;
} sample;

/* The value of this rank among the drawn ones, of which there are hits[i] of the i-th. */
static double drawn_at(const sample *s, const uint16_t *hits, size_t rank)
{
    size_t i = 0, below = hits[0];
    while (below <= rank) below += hits[++i];
    return s->values[i];
}

/* The median of as many values as the sorted sample has, drawn from it. */
static double resample(uint16_t *hits, const sample *s, mt19937 *g)
{
    memset(hits, 0, s->count * sizeof *hits);
    for (size_t i = 0; i < s->count; i++) hits[(size_t)(mt19937_double(g) * (double)s->count)]++;
    const double upper = drawn_at(s, hits, s->count / 2);
    return s->count % 2 ? upper : (upper + drawn_at(s, hits, s->count / 2 - 1)) / 2;
}

/* The interval of the median of a sorted sample or, if `other` is given, of the difference of two.
 */
static pgy_status bootstrap(double *low, double *high, const sample *s, const sample *other,
                            const pgy_bench_options *o, pgy_error *err)
{
    uint16_t hits[BENCH_SLICES];
    double *found = mem_calloc(RESAMPLES, sizeof *found);
    mt19937 *g = mem_alloc(sizeof *g);
    pgy_status st = found && g ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) {
        mt19937_seed(g, (uint32_t)o->seed);
        for (size_t i = 0; i < RESAMPLES && !cancel_requested(); i++) {
            found[i] = resample(hits, s, g);
            if (other) found[i] -= resample(hits, other, g);
        }
        qsort(found, RESAMPLES, sizeof *found, ascending);
        const size_t tail = (size_t)floor((1 - o->confidence) / 2 * RESAMPLES);
        *low = found[tail];
        *high = found[RESAMPLES - 1 - tail];
        st = cancel_check(err);
    }
    mem_free(g);
    mem_free(found);
    return st;
}

static void sample_sort(sample *s)
{
    qsort(s->values, s->count, sizeof *s->values, ascending);
}

/* The logarithms of the centres of the slices that count. */
static pgy_status take_sample(sample *out, const pgy_bench *b, size_t side, const bench_rounds *r,
                              pgy_error *err)
{
    sample s = {.values = mem_calloc(r->counted, sizeof *s.values)};
    if (!s.values) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t k = 0; k < r->total; k++)
        if (r->counts[k]) s.values[s.count++] = log(bench_slice_centre(&b->sides[side].slices[k]));
    *out = s;
    return PGY_OK;
}

/* ---- Figures -------------------------------------------------------------------------------- */

static double percentile_ms(const int64_t *sorted, size_t count, double p)
{
    return (double)sorted[perf_percentile_index(count, p, false)] / 1e6;
}

/* An unknown part makes the sum unknown. */
static void add_joules(double *sum, double more)
{
    *sum = *sum < 0 || more < 0 ? -1 : *sum + more;
}

static pgy_status fill_percentiles(pgy_bench_figures *f, const bench_side *s, const bench_rounds *r,
                                   pgy_error *err)
{
    size_t count = 0;
    double total_s = 0;
    bench_joules joules = {0};
    for (size_t k = 0; k < r->total; k++) count += r->counts[k] ? s->slices[k].count : 0;
    int64_t *all = mem_calloc(count, sizeof *all);
    if (!all) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for %zu times", count);
    count = 0;
    for (size_t k = 0; k < r->total; k++) {
        const bench_slice *slice = &s->slices[k];
        f->disturbed += slice->disturbed;
        if (!r->counts[k]) continue;
        memcpy(all + count, slice->times_ns, slice->count * sizeof *all);
        count += slice->count;
        f->runs += slice->runs;
        total_s += (double)slice->total_ns / 1e9;
        add_joules(&joules.cpu, slice->joules.cpu);
        add_joules(&joules.gpu, slice->joules.gpu);
    }
    bench_sort_times(all, count);
    f->p50_ms = percentile_ms(all, count, 50);
    f->p90_ms = percentile_ms(all, count, 90);
    f->p99_ms = percentile_ms(all, count, 99);
    f->p999_ms = percentile_ms(all, count, 99.9);
    f->throughput = (double)f->runs / total_s;
    f->cpu_joules = joules.cpu < 0 ? -1 : joules.cpu / (double)f->runs;
    f->gpu_joules = joules.gpu < 0 ? -1 : joules.gpu / (double)f->runs;
    mem_free(all);
    return PGY_OK;
}

static pgy_status fill_median(pgy_bench_figures *f, const pgy_bench *b, sample *s, pgy_error *err)
{
    double low = 0, high = 0;
    sample_sort(s);
    const pgy_status st = bootstrap(&low, &high, s, NULL, &b->options, err);
    f->median_ms = exp(perf_median(s->values, s->count)) / 1e6;
    f->low_ms = exp(low) / 1e6;
    f->high_ms = exp(high) / 1e6;
    return st;
}

pgy_status pgy_bench_summarize(pgy_bench_figures *out, const pgy_bench *b, size_t side,
                               pgy_error *err)
{
    bench_rounds r = {0};
    sample s = {0};
    if (side >= b->count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "there is no side %zu; there are %zu", side,
                             b->count);
    const bench_side *from = &b->sides[side];
    pgy_bench_figures f = {.load_ms = from->load_ms,
                           .first_run_ms = from->first_run_ms,
                           .peak_bytes = from->peak_bytes};
    pgy_status st = bench_rounds_find(&r, b, err);
    f.slices = r.counted;
    f.counts_disturbed = r.all;
    if (!st) st = take_sample(&s, b, side, &r, err);
    if (!st) st = fill_percentiles(&f, from, &r, err);
    if (!st) st = fill_median(&f, b, &s, err);
    if (!st) *out = f;
    mem_free(s.values);
    bench_rounds_deinit(&r);
    return st;
}

/* ---- Verdicts ------------------------------------------------------------------------------- */

const char *pgy_bench_outcome_name(pgy_bench_outcome outcome)
{
    static const char *const NAMES[] = {"no difference shown", "faster", "slower"};
    return NAMES[outcome];
}

/* Fills the verdict from the median and the interval of the logarithm of the ratio. */
static void decide(pgy_bench_verdict *v, double middle, double low, double high, size_t rounds,
                   const pgy_bench_options *o)
{
    const double wide = (high - low) / 2 * POWER_FACTOR / log1p(SHOWN_EFFECT);
    const double least_rounds = (double)BENCH_LEAST / (double)rounds;
    v->effect = expm1(middle);
    v->low = expm1(low);
    v->high = expm1(high);
    v->needed_s = o->duration_s * fmax(wide * wide, least_rounds);
    if (v->pairs < BENCH_LEAST || fabs(v->effect) < o->least_effect) return;
    if (low > 0) v->outcome = PGY_BENCH_SLOWER;
    if (high < 0) v->outcome = PGY_BENCH_FASTER;
}

pgy_status pgy_bench_judge(pgy_bench_verdict *out, const pgy_bench *b, size_t side, size_t other,
                           pgy_error *err)
{
    bench_rounds r = {0};
    sample s = {0}, base = {0};
    double low = 0, high = 0;
    if (side >= b->count || other >= b->count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "there is no side %zu; there are %zu",
                             side >= b->count ? side : other, b->count);
    pgy_status st = bench_rounds_find(&r, b, err);
    if (!st) st = take_sample(&s, b, side, &r, err);
    if (!st) st = take_sample(&base, b, other, &r, err);
    for (size_t i = 0; !st && i < s.count; i++) s.values[i] -= base.values[i];
    if (!st) sample_sort(&s);
    if (!st) st = bootstrap(&low, &high, &s, NULL, &b->options, err);
    if (!st) {
        pgy_bench_verdict v = {.pairs = s.count};
        decide(&v, perf_median(s.values, s.count), low, high, r.total, &b->options);
        *out = v;
    }
    mem_free(base.values);
    mem_free(s.values);
    bench_rounds_deinit(&r);
    return st;
}

pgy_status pgy_bench_compare(pgy_bench_verdict *out, const pgy_bench *now, size_t side,
                             const pgy_bench *old, size_t old_side, pgy_error *err)
{
    bench_rounds r = {0}, old_r = {0};
    sample s = {0}, base = {0};
    double low = 0, high = 0;
    if (side >= now->count || old_side >= old->count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "there is no such side");
    pgy_status st = bench_rounds_find(&r, now, err);
    if (!st) st = bench_rounds_find(&old_r, old, err);
    if (!st) st = take_sample(&s, now, side, &r, err);
    if (!st) st = take_sample(&base, old, old_side, &old_r, err);
    if (!st) sample_sort(&s);
    if (!st) sample_sort(&base);
    if (!st) st = bootstrap(&low, &high, &s, &base, &now->options, err);
    if (!st) {
        pgy_bench_verdict v = {.pairs = s.count < base.count ? s.count : base.count};
        const double middle = perf_median(s.values, s.count) - perf_median(base.values, base.count);
        decide(&v, middle, low, high, r.total, &now->options);
        *out = v;
    }
    mem_free(base.values);
    mem_free(s.values);
    bench_rounds_deinit(&old_r);
    bench_rounds_deinit(&r);
    return st;
}

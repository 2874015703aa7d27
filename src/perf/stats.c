/* SPDX-License-Identifier: Apache-2.0 */
/* Traces and their statistics. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "perf/perf.h"

/* ---- Traces --------------------------------------------------------------------------------- */

pgy_status pgy_perf_trace_create(pgy_perf_trace **out, const pgy_perf_run *runs, size_t count,
                                 pgy_error *err)
{
    pgy_perf_trace *t = mem_calloc(1, sizeof *t);
    if (t) t->runs = mem_calloc(count + 1, sizeof *t->runs);
    if (!t || !t->runs) {
        mem_free(t);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for %zu runs", count);
    }
    if (count) memcpy(t->runs, runs, count * sizeof *runs);
    t->count = t->capacity = count;
    *out = t;
    return PGY_OK;
}

void pgy_perf_trace_destroy(pgy_perf_trace *t)
{
    if (!t) return;
    mem_free(t->runs);
    mem_free(t);
}

size_t pgy_perf_trace_count(const pgy_perf_trace *t)
{
    return t->count;
}

const pgy_perf_run *pgy_perf_trace_at(const pgy_perf_trace *t, size_t i)
{
    return &t->runs[i];
}

size_t pgy_perf_warm_up_count(const pgy_perf_trace *t)
{
    return t->warm_up_count;
}

double pgy_perf_preparation_ms(size_t *measured, const pgy_perf_trace *t)
{
    if (measured) *measured = t->prepared_count;
    return t->preparation_ms;
}

size_t pgy_perf_dropped_count(const pgy_perf_trace *t)
{
    return t->dropped;
}

/* ---- Times ---------------------------------------------------------------------------------- */

double pgy_perf_time(const pgy_perf_run *r, pgy_perf_metric metric)
{
    switch (metric) {
    case PGY_PERF_ENQUEUE: return r->enqueue_end - r->enqueue_start;
    case PGY_PERF_H2D: return r->h2d_end - r->h2d_start;
    case PGY_PERF_COMPUTE: return r->compute_end - r->compute_start;
    case PGY_PERF_D2H: return r->d2h_end - r->d2h_start;
    case PGY_PERF_LATENCY: break;
    }
    return (r->h2d_end - r->h2d_start) + (r->compute_end - r->compute_start) +
           (r->d2h_end - r->d2h_start);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The bits of a double as a number of the same order. */
static uint64_t key_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

enum { DIGIT_BITS = 16, DIGIT_COUNT = 1 << DIGIT_BITS, RADIX_MIN = 1 << 15 };

/* Moves `from` to `to` in the order of one digit of the keys; equal digits keep their order. */
static void sort_digit(double *to, const double *from, size_t count, int shift, size_t *begins)
{
    size_t begin = 0;
    memset(begins, 0, DIGIT_COUNT * sizeof *begins);
    for (size_t i = 0; i < count; i++) begins[key_of(from[i]) >> shift & (DIGIT_COUNT - 1)]++;
    for (size_t d = 0; d < DIGIT_COUNT; d++) {
        const size_t size = begins[d];
        begins[d] = begin;
        begin += size;
    }
    for (size_t i = 0; i < count; i++)
        to[begins[key_of(from[i]) >> shift & (DIGIT_COUNT - 1)]++] = from[i];
}

/* A loop over a small model gives millions of times, for which qsort takes seconds. If memory for a
 * radix sort is short, qsort does it. */
static void sort_times(double *times, size_t count)
{
    double *other = count < RADIX_MIN ? NULL : mem_alloc(count * sizeof *other);
    size_t *begins = other ? mem_alloc(DIGIT_COUNT * sizeof *begins) : NULL;
    if (begins) {
        for (int shift = 0; shift < 64; shift += 2 * DIGIT_BITS) {
            sort_digit(other, times, count, shift, begins);
            sort_digit(times, other, count, shift + DIGIT_BITS, begins);
        }
    } else {
        qsort(times, count, sizeof *times, ascending);
    }
    mem_free(begins);
    mem_free(other);
}

pgy_status perf_sorted(double **out, const pgy_perf_trace *t, pgy_perf_metric metric,
                       pgy_error *err)
{
    double *times = mem_calloc(t->count + 1, sizeof *times);
    if (!times) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for %zu times", t->count);
    for (size_t i = 0; i < t->count; i++) times[i] = pgy_perf_time(&t->runs[i], metric);
    sort_times(times, t->count);
    *out = times;
    return PGY_OK;
}

double perf_median(const double *sorted, size_t count)
{
    if (!count) return 0;
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* The guard makes (1 - p/100) N whole where rounding left it just below. */
size_t perf_percentile_index(size_t count, double p, bool like_trtexec)
{
    const double guard = 1e-9;
    const float share = 1.0F - (float)p / 100.0F;
    const double left_out = like_trtexec ? (double)truncf(share * (float)count)
                                         : trunc((1 - p / 100) * (double)count + guard);
    return left_out >= (double)count ? 0 : count - 1 - (size_t)(left_out > 0 ? left_out : 0);
}

pgy_status pgy_perf_percentile(double *out, const pgy_perf_trace *t, pgy_perf_metric metric,
                               double p, bool like_trtexec, pgy_error *err)
{
    double *times = NULL;
    if (!(p >= 0 && p <= 100))
        return pgy_error_set(err, PGY_E_ARGUMENT, "percentile %g is not in [0, 100]", p);
    if (!t->count) return pgy_error_set(err, PGY_E_ARGUMENT, "the trace has no runs");
    const pgy_status st = perf_sorted(&times, t, metric, err);
    if (!st) *out = times[perf_percentile_index(t->count, p, like_trtexec)];
    mem_free(times);
    return st;
}

pgy_perf_stats perf_stats_of(const pgy_perf_trace *t, pgy_perf_metric metric, const double *sorted)
{
    pgy_perf_stats s = {0};
    double sum = 0, squares = 0;
    if (!t->count) return s;
    for (size_t i = 0; i < t->count; i++) sum += pgy_perf_time(&t->runs[i], metric);
    s.min = sorted[0];
    s.max = sorted[t->count - 1];
    s.mean = sum / (double)t->count;
    s.median = perf_median(sorted, t->count);
    for (size_t i = 0; i < t->count; i++) squares += (sorted[i] - s.mean) * (sorted[i] - s.mean);
    if (s.mean > 0) s.variance_percent = sqrt(squares / (double)t->count) / s.mean * 100;
    return s;
}

pgy_status pgy_perf_summarize(pgy_perf_stats *out, const pgy_perf_trace *t, pgy_perf_metric metric,
                              pgy_error *err)
{
    double *times = NULL;
    const pgy_status st = perf_sorted(&times, t, metric, err);
    if (st) return st;
    *out = perf_stats_of(t, metric, times);
    mem_free(times);
    return PGY_OK;
}

double pgy_perf_wall_ms(const pgy_perf_trace *t)
{
    if (!t->count) return 0;
    double first = t->runs[0].h2d_start, last = t->runs[0].d2h_end;
    for (size_t i = 1; i < t->count; i++) {
        if (t->runs[i].h2d_start < first) first = t->runs[i].h2d_start;
        if (t->runs[i].d2h_end > last) last = t->runs[i].d2h_end;
    }
    return last - first;
}

double pgy_perf_throughput(const pgy_perf_trace *t)
{
    const double wall = pgy_perf_wall_ms(t);
    return wall > 0 ? (double)t->count / wall * 1000 : 0;
}

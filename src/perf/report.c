/* SPDX-License-Identifier: Apache-2.0 */
/* trtexec's report, which other programs read by regular expressions. Numbers have six significant
 * digits. */
#include <string.h>

#include "base/alloc.h"
#include "base/sized.h"
#include "base/str.h"
#include "perf/perf.h"

enum { GROUPS_LISTED = 400 };
static const double PERCENTILES[] = {90, 95, 99};

static const struct {
    pgy_perf_metric metric;
    const char *title;
} METRICS[] = {{PGY_PERF_LATENCY, "Latency"},
               {PGY_PERF_ENQUEUE, "Enqueue Time"},
               {PGY_PERF_H2D, "H2D Latency"},
               {PGY_PERF_COMPUTE, "GPU Compute Time"},
               {PGY_PERF_D2H, "D2H Latency"}};

/* ---- Groups --------------------------------------------------------------------------------- */

static void print_group(str *out, const pgy_perf_trace *t, size_t group, size_t size)
{
    double compute = 0, latency = 0, enqueue = 0;
    for (size_t i = group * size; i < (group + 1) * size; i++) {
        compute += pgy_perf_time(&t->runs[i], PGY_PERF_COMPUTE);
        latency += pgy_perf_time(&t->runs[i], PGY_PERF_LATENCY);
        enqueue += pgy_perf_time(&t->runs[i], PGY_PERF_ENQUEUE);
    }
    const double n = (double)size;
    str_printf(out,
               "Average on %zu runs - GPU latency: %g ms - Host latency: %g ms (enqueue %g ms)\n",
               size, compute / n, latency / n, enqueue / n);
}

/* An incomplete last group is left out; of many groups only the first and the last are listed. */
static void print_groups(str *out, const pgy_perf_trace *t, size_t size)
{
    const size_t count = t->count / size;
    str_printf(out, "\n=== Trace details ===\nTrace averages of %zu runs:\n", size);
    for (size_t i = 0; i < count; i++) {
        if (count > GROUPS_LISTED && i == GROUPS_LISTED / 2) {
            str_printf(out, "... Omitting %zu lines\n", count - GROUPS_LISTED);
            i = count - GROUPS_LISTED / 2;
        }
        print_group(out, t, i, size);
    }
}

/* ---- The summary ---------------------------------------------------------------------------- */

static pgy_status print_metric(str *out, double *mean, const pgy_perf_trace *t, size_t m,
                               const pgy_perf_text_options *o, pgy_error *err)
{
    double *times = NULL;
    const pgy_status st = perf_sorted(&times, t, METRICS[m].metric, err);
    if (st) return st;
    const pgy_perf_stats s = perf_stats_of(t, METRICS[m].metric, times);
    *mean = s.mean;
    str_printf(out, "%s: min = %g ms, max = %g ms, mean = %g ms, median = %g ms", METRICS[m].title,
               s.min, s.max, s.mean, s.median);
    for (size_t i = 0; i < o->percentile_count; i++)
        str_printf(out, ", percentile(%g%%) = %g ms", o->percentiles[i],
                   t->count ? times[perf_percentile_index(t->count, o->percentiles[i], true)]
                            : 0.0);
    str_append_char(out, '\n');
    mem_free(times);
    return PGY_OK;
}

static pgy_status print_summary(str *out, const pgy_perf_trace *t, const pgy_perf_text_options *o,
                                pgy_error *err)
{
    double means[sizeof METRICS / sizeof *METRICS] = {0}; /* by metric */
    pgy_status st = PGY_OK;
    str_printf(out, "\n=== Performance summary ===\nThroughput: %g qps\n", pgy_perf_throughput(t));
    for (size_t m = 0; !st && m < sizeof METRICS / sizeof *METRICS; m++)
        st = print_metric(out, &means[METRICS[m].metric], t, m, o, err);
    str_printf(out, "Total Host Walltime: %g s\nTotal GPU Compute Time: %g s\n",
               pgy_perf_wall_ms(t) / 1000, means[PGY_PERF_COMPUTE] * (double)t->count / 1000);
    if (t->preparation_ms > 0)
        str_printf(out, "Preparation of programs for new shapes: %g ms, in %zu of %zu queries\n",
                   t->preparation_ms, t->prepared_count, t->count);
    str_append(out, "Explanations of the performance metrics are printed in the verbose logs.\n");
    return st;
}

static pgy_status check(const pgy_perf_text_options *o, pgy_error *err)
{
    if (o->average_runs < 1)
        return pgy_error_set(err, PGY_E_ARGUMENT, "average_runs: %lld is not positive",
                             (long long)o->average_runs);
    for (size_t i = 0; i < o->percentile_count; i++)
        if (!(o->percentiles[i] >= 0 && o->percentiles[i] <= 100))
            return pgy_error_set(err, PGY_E_ARGUMENT, "percentiles: %g is not in [0, 100]",
                                 o->percentiles[i]);
    return PGY_OK;
}

pgy_status pgy_perf_text(char **out, const pgy_perf_trace *t, const pgy_perf_text_options *options,
                         pgy_error *err)
{
    pgy_perf_text_options o = {.size = sizeof o};
    str text = {0};
    pgy_status st = SIZED_TAKE(pgy_perf_text_options, &o, options, err);
    if (!o.average_runs) o.average_runs = 10;
    if (!o.percentiles) {
        o.percentiles = PERCENTILES;
        o.percentile_count = sizeof PERCENTILES / sizeof *PERCENTILES;
    }
    if (!st) st = check(&o, err);
    if (st) return st;
    if (o.has_warm_up)
        str_printf(&text, "Warmup completed %zu queries over %g ms\n", t->warm_up_count,
                   o.warm_up_ms);
    str_printf(&text, "Timing trace has %zu queries over %g s\n", t->count,
               pgy_perf_wall_ms(t) / 1000);
    print_groups(&text, t, (size_t)o.average_runs);
    st = print_summary(&text, t, &o, err);
    if (!st) st = str_give(out, &text, err);
    str_deinit(&text);
    return st;
}

/* ---- Warnings ------------------------------------------------------------------------------- */

static bool is_synchronous(const pgy_perf_trace *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->runs[i].enqueue_start != t->runs[i].compute_start ||
            t->runs[i].enqueue_end != t->runs[i].compute_end)
            return false;
    return true;
}

static const double ENQUEUE_BOUND = 0.8, UNSTABLE_PERCENT = 2.5;

pgy_status pgy_perf_warnings(char **out, const pgy_perf_trace *t, size_t streams, pgy_error *err)
{
    pgy_perf_stats s[sizeof METRICS / sizeof *METRICS] = {{0}};
    str text = {0};
    pgy_status st = PGY_OK;
    for (size_t m = 0; !st && m < sizeof METRICS / sizeof *METRICS; m++)
        st = pgy_perf_summarize(&s[METRICS[m].metric], t, METRICS[m].metric, err);
    if (st) return st;
    const pgy_perf_stats *compute = &s[PGY_PERF_COMPUTE];
    if (t->dropped)
        str_printf(
            &text,
            "The figures are those of the last %zu queries; the times of the %zu before them "
            "are not kept.\n",
            t->count, t->dropped);
    if (t->count && !is_synchronous(t) &&
        s[PGY_PERF_ENQUEUE].median > ENQUEUE_BOUND * compute->median)
        str_append(&text, "Throughput may be bound by Enqueue Time rather than GPU Compute.\n");
    if (t->count && s[PGY_PERF_H2D].median >= compute->median)
        str_append(&text, "Throughput may be bound by host-to-device transfers for the inputs "
                          "rather than GPU Compute; --noDataTransfers leaves them out.\n");
    if (t->count && s[PGY_PERF_D2H].median >= compute->median)
        str_append(&text, "Throughput may be bound by device-to-host transfers for the outputs "
                          "rather than GPU Compute; --noDataTransfers leaves them out.\n");
    if (compute->variance_percent > UNSTABLE_PERCENT)
        str_printf(&text,
                   "GPU compute time is unstable, with coefficient of variance = %g%%; lock the "
                   "clock frequency and stop other programs.\n",
                   compute->variance_percent);
    if (streams > 1)
        str_append(&text, "Runs of several streams overlap, so the latency of one run says little; "
                          "compare the throughput.\n");
    st = str_give(out, &text, err);
    str_deinit(&text);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over slices: wall and idle time, and times by layer, by op and by run. */
#include "trace/summary_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"

/* ---- Wall and idle time ---------------------------------------------------------------------- */

static int by_run(const void *a, const void *b)
{
    const slice *x = a, *y = b;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    if (x->has_run != y->has_run) return x->has_run ? -1 : 1;
    if (x->stream != y->stream) return x->stream < y->stream ? -1 : 1;
    return (x->run > y->run) - (x->run < y->run);
}

typedef struct reach {
    int64_t first, last, covered_to, covered;
    bool any;
} reach;

/* Slices come in the order of their starts. */
static void extend(reach *r, const slice *s)
{
    if (!r->any) *r = (reach){s->start, s->end, s->start, 0, true};
    if (s->start < r->first) r->first = s->start;
    if (s->end > r->last) r->last = s->end;
    const int64_t from = s->start > r->covered_to ? s->start : r->covered_to;
    if (s->end <= from) return;
    r->covered += s->end - from;
    r->covered_to = s->end;
}

static pgy_status measure_cover(summer *m)
{
    const size_t n = m->s->process_count;
    reach *busy = mem_calloc(n + 1, sizeof *busy), *runs = mem_calloc(n + 1, sizeof *runs);
    slice *sorted = mem_calloc(m->slice_count + 1, sizeof *sorted);
    const bool good = busy && runs && sorted;
    if (good && m->slice_count) memcpy(sorted, m->slices, m->slice_count * sizeof *sorted);
    if (good) qsort(sorted, m->slice_count, sizeof *sorted, by_run);
    for (size_t i = 0; good && i < m->slice_count; i++)
        extend(&busy[m->slices[i].process], &m->slices[i]);
    for (size_t i = 0; good && i < m->run_count; i++) {
        const slice *run = &m->runs[i];
        if (!run->has_run || !bsearch(run, sorted, m->slice_count, sizeof *sorted, by_run))
            continue;
        extend(&runs[run->process], run);
        m->s->processes[run->process].runs_with_layers++;
    }
    for (size_t i = 0; good && i < n; i++) {
        pgy_trace_process *p = &m->s->processes[i];
        int64_t first = busy[i].first, last = busy[i].last;
        if (runs[i].any && runs[i].first < first) first = runs[i].first;
        if (runs[i].any && runs[i].last > last) last = runs[i].last;
        p->wall_us = (double)(last - first) / 1e3;
        p->run_us = (double)runs[i].covered / 1e3;
        p->busy_us = (double)busy[i].covered / 1e3;
        p->idle_us = fmax(0, (runs[i].any ? p->run_us : p->wall_us) - p->busy_us);
    }
    mem_free(busy);
    mem_free(runs);
    mem_free(sorted);
    return good ? PGY_OK : summary_no_memory(m->err);
}

/* ---- Groups --------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const slice *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    const int order = by_run(a, b);
    return order ? order : (x->start > y->start) - (x->start < y->start);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double trace_median(double *v, size_t count)
{
    if (!count) return 0;
    qsort(v, count, sizeof *v, ascending);
    return count % 2 ? v[count / 2] : (v[count / 2 - 1] + v[count / 2]) / 2;
}

double trace_percentile(const double *v, size_t count, double share)
{
    const size_t rank = (size_t)ceil(share * (double)count);
    return count ? v[rank ? rank - 1 : 0] : 0;
}

/* A sum is known if that of each call is. */
static void sum_work(pgy_trace_times *out, const slice *s, size_t count)
{
    bool has_flops = true, has_bytes = true;
    out->same_work = true;
    for (size_t i = 0; i < count; i++) {
        has_flops = has_flops && s[i].flops > 0;
        has_bytes = has_bytes && s[i].bytes > 0;
        out->flops += s[i].flops;
        out->bytes += (double)s[i].bytes;
        out->same_work = out->same_work && s[i].flops == s[0].flops && s[i].bytes == s[0].bytes;
    }
    if (!has_flops) out->flops = 0;
    if (!has_bytes) out->bytes = 0;
}

/* Fills the times of the slices of one group. */
static bool sum_up(pgy_trace_times *out, const slice *s, size_t count, arena *memory)
{
    double *samples = arena_alloc_array(memory, count, sizeof *samples);
    double *calls = mem_calloc(count, sizeof *calls);
    bool by_runs = true;
    for (size_t i = 0; samples && calls && i < count; i++) {
        by_runs = by_runs && s[i].has_run;
        calls[i] = (double)s[i].own / 1e3;
        out->total_us += calls[i];
    }
    for (size_t i = 0; samples && calls && i < count; i++) {
        const bool same = by_runs && i && !by_run(&s[i], &s[i - 1]);
        if (!same) samples[out->sample_count++] = 0;
        samples[out->sample_count - 1] += calls[i];
    }
    if (samples && calls) {
        sum_work(out, s, count);
        out->calls = count;
        out->samples = samples;
        out->mean_us = out->total_us / (double)count;
        out->median_us = trace_median(calls, count);
        out->p90_us = trace_percentile(calls, count, 0.9);
        out->p99_us = trace_percentile(calls, count, 0.99);
        out->min_us = calls[0];
        out->max_us = calls[count - 1];
    }
    mem_free(calls);
    return samples && out->calls;
}

static pgy_status group(summer *m, slice *list, size_t count, pgy_trace_times *times)
{
    if (count) qsort(list, count, sizeof *list, by_key);
    for (size_t from = 0, to = 0; from < count; from = to) {
        while (to < count && list[to].key == list[from].key) to++;
        if (!sum_up(&times[list[from].key], list + from, to - from, &m->s->memory))
            return summary_no_memory(m->err);
        const pgy_status st = cancel_check(m->err);
        if (st) return st;
    }
    return PGY_OK;
}

static int by_total(const void *a, const void *b)
{
    const pgy_trace_times *x = a, *y = b;
    if (x->total_us != y->total_us) return x->total_us < y->total_us ? 1 : -1;
    const int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->op, y->op);
}

/* Gives each process its part of the list. */
static bool share_out(summer *m, const pgy_trace_times *times, const size_t *owner, size_t count,
                      bool is_op)
{
    pgy_trace_summary *s = m->s;
    size_t *starts = mem_calloc(s->process_count + 2, sizeof *starts);
    pgy_trace_times *all = arena_alloc_array(&s->memory, count + 1, sizeof *all);
    for (size_t i = 0; starts && i < count; i++) starts[owner[i] + 1]++;
    for (size_t i = 0; starts && i < s->process_count; i++) starts[i + 1] += starts[i];
    for (size_t i = 0; starts && all && i < s->process_count; i++) {
        const size_t n = starts[i + 1] - starts[i];
        *(is_op ? &s->processes[i].op_count : &s->processes[i].layer_count) = n;
        *(is_op ? &s->processes[i].ops : &s->processes[i].layers) = all + starts[i];
    }
    for (size_t i = 0; starts && all && i < count; i++) all[starts[owner[i]]++] = times[i];
    for (size_t i = 0; starts && all && i < s->process_count; i++) {
        const pgy_trace_process *p = &s->processes[i];
        const size_t n = is_op ? p->op_count : p->layer_count;
        pgy_trace_times *of = all + (starts[i] - n);
        double sum = 0;
        for (size_t k = 0; k < n; k++) sum += of[k].total_us;
        for (size_t k = 0; k < n; k++) of[k].share = sum > 0 ? of[k].total_us / sum : 0;
        if (n) qsort(of, n, sizeof *of, by_total);
    }
    mem_free(starts);
    return starts && all;
}

static pgy_status sum_runs(summer *m)
{
    pgy_trace_times *times = mem_calloc(m->s->process_count + 1, sizeof *times);
    if (!times) return summary_no_memory(m->err);
    for (size_t i = 0; i < m->run_count; i++) {
        m->runs[i].key = m->runs[i].process;
        m->runs[i].has_run = false; /* each run is a sample */
    }
    const pgy_status st = group(m, m->runs, m->run_count, times);
    for (size_t i = 0; !st && i < m->s->process_count; i++) {
        times[i].name = "run";
        times[i].op = "";
        m->s->processes[i].runs = times[i];
    }
    mem_free(times);
    return st;
}

pgy_status summary_sum(summer *m)
{
    pgy_status st = measure_cover(m);
    for (size_t i = 0; i < m->slice_count; i++) m->slices[i].key = m->slices[i].layer;
    if (!st) st = group(m, m->slices, m->slice_count, m->layers);
    for (size_t i = 0; i < m->slice_count; i++) m->slices[i].key = m->slices[i].op;
    if (!st) st = group(m, m->slices, m->slice_count, m->op_times);
    if (!st && (!share_out(m, m->layers, m->layer_process, m->layer_count, false) ||
                !share_out(m, m->op_times, m->op_process, m->op_count, true)))
        st = summary_no_memory(m->err);
    return st ? st : sum_runs(m);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the recorded slices: names of runs, counters, and alignment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/trace.h"

enum { GAP_NS = 1000, WORKERS_OF_RUNNER = 512 };

typedef struct deriver {
    pgy_trace *t;
    uint64_t most;
    uint64_t dropped;
    bool failed;
} deriver;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a trace");
}

static void add(deriver *d, const trace_record *r)
{
    pgy_trace *t = d->t;
    if (t->record_count >= d->most) {
        d->dropped++;
        return;
    }
    if (mem_grow((void **)&t->records, &t->record_capacity, t->record_count + 1,
                 sizeof *t->records))
        t->records[t->record_count++] = *r;
    else
        d->failed = true;
}

static uint32_t add_label(deriver *d, const char *name, const char *args)
{
    pgy_trace *t = d->t;
    const bool room =
        mem_grow((void **)&t->labels, &t->label_capacity, t->label_count + 1, sizeof *t->labels);
    const char *copy = arena_strdup(&t->memory, name);
    if (!room || !copy) {
        d->failed = true;
        return 0;
    }
    t->labels[t->label_count] = (trace_label){.name = copy, .args = args};
    return (uint32_t)t->label_count++;
}

/* ---- Names ---------------------------------------------------------------------------------- */

/* Gives every run its name. Runs with the same index share it. */
static void name_runs(deriver *d)
{
    pgy_trace *t = d->t;
    uint32_t highest = 0;
    for (size_t i = 0; i < t->run_count; i++)
        if (t->runs[i].index > highest) highest = t->runs[i].index;
    uint32_t *names = mem_calloc((size_t)highest + 1, sizeof *names);
    if (!names) d->failed = true;
    for (size_t i = 0; names && i < t->record_count; i++) {
        trace_record *r = &t->records[i];
        if (r->kind != TRACE_RUN) continue;
        uint32_t *name = &names[t->runs[r->run].index];
        char text[32];
        snprintf(text, sizeof text, "run %u", t->runs[r->run].index);
        if (!*name) *name = add_label(d, text, "");
        r->label = *name;
    }
    mem_free(names);
}

/* ---- Counters ------------------------------------------------------------------------------- */

static trace_record memory_at(const trace_record *r, uint32_t name, int64_t ns)
{
    trace_record made = *r;
    made.kind = TRACE_MEMORY;
    made.label = name;
    made.start_ns = made.end_ns = ns;
    memset(made.words, 0, sizeof made.words);
    return made;
}

/* Memory at the start of each layer. `last`: of each run. Streams have arenas of their own; only
 * the first one's is shown. */
static void count_layer(deriver *d, size_t i, uint32_t name, trace_record *last)
{
    const trace_record *r = &d->t->records[i];
    const trace_label *l = &d->t->labels[r->label];
    if (r->run == TRACE_NONE || d->t->rows[r->row].thread > 1) return;
    trace_record made = memory_at(r, name, r->start_ns);
    made.words[0] = l->live_bytes;
    made.words[1] = l->weight_bytes;
    made.words[2] = l->workspace_bytes;
    if (!l->live_bytes && !l->weight_bytes) return;
    if (!memcmp(last[r->run].words, made.words, sizeof made.words)) return;
    last[r->run] = made;
    add(d, &made);
}

/* Memory while each layer runs, and behind each run. */
static void count_memory(deriver *d)
{
    pgy_trace *t = d->t;
    const size_t count = t->record_count;
    const uint32_t name = add_label(d, "memory", "");
    trace_record *last = mem_calloc(t->run_count + 1, sizeof *last);
    if (!last) d->failed = true;
    for (size_t i = 0; last && i < count; i++)
        if (t->records[i].kind == TRACE_LAYER) count_layer(d, i, name, last);
    for (size_t i = 0; last && i < count; i++) {
        const trace_record *r = &t->records[i];
        if (r->kind != TRACE_RUN || last[r->run].kind != TRACE_MEMORY) continue;
        trace_record made = memory_at(r, name, r->end_ns);
        made.words[1] = last[r->run].words[1];
        add(d, &made);
    }
    mem_free(last);
}

typedef struct edge {
    int64_t ns;
    int change;
    const trace_record *of;
} edge;

static int by_time(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return (x->change > y->change) - (x->change < y->change);
}

/* The number of workers that compute, wherever it changes. */
static void count_workers(deriver *d)
{
    pgy_trace *t = d->t;
    const size_t count = t->record_count;
    edge *edges = mem_alloc((2 * count + 1) * sizeof *edges);
    size_t n = 0;
    uint64_t busy = 0;
    if (!edges) {
        d->failed = true;
        return;
    }
    trace_record *copies = mem_alloc((count + 1) * sizeof *copies);
    if (copies && count) memcpy(copies, t->records, count * sizeof *copies);
    for (size_t i = 0; copies && i < count; i++) {
        const trace_record *r = &copies[i];
        if (r->kind != TRACE_WORKER || r->end_ns <= r->start_ns) continue;
        edges[n++] = (edge){r->start_ns, 1, r};
        edges[n++] = (edge){r->end_ns, -1, r};
    }
    qsort(edges, n, sizeof *edges, by_time);
    const uint32_t name = n ? add_label(d, "workers busy", "") : 0;
    for (size_t i = 0; i < n; i++) {
        busy += edges[i].change < 0 ? UINT64_MAX : 1;
        if (i + 1 < n && edges[i + 1].ns == edges[i].ns) continue;
        trace_record made = *edges[i].of;
        made.kind = TRACE_BUSY;
        made.label = name;
        made.start_ns = made.end_ns = edges[i].ns;
        memset(made.words, 0, sizeof made.words);
        made.words[0] = busy;
        add(d, &made);
    }
    if (!copies) d->failed = true;
    mem_free(copies);
    mem_free(edges);
}

/* ---- Alignment ------------------------------------------------------------------------------ */

/* What alignment needs of the runs. */
typedef struct aligner {
    uint32_t runners, longest; /* number of runners; most runs of one */
    int64_t *starts;           /* of run i in the aligned trace */
    int64_t *shifts;           /* of each run */
    int64_t first;             /* start of the first run */
} aligner;

/* A runner with slices on several threads cannot be laid out again. */
static bool can_align(const pgy_trace *t, aligner *a)
{
    a->first = INT64_MAX;
    for (size_t i = 0; i < t->run_count; i++) {
        const trace_run *r = &t->runs[i];
        if (!r->end_ns) continue;
        if (t->rows[r->row].thread != 0) return false;
        if (r->runs + 1 > a->runners) a->runners = r->runs + 1;
        if (r->index + 1 > a->longest) a->longest = r->index + 1;
        if (r->start_ns < a->first) a->first = r->start_ns;
    }
    return a->runners > 1;
}

/* Run i + 1 begins when the longest run i has ended. */
static void lay_out(const pgy_trace *t, aligner *a)
{
    for (size_t i = 0; i < t->run_count; i++) {
        const trace_run *r = &t->runs[i];
        const int64_t took = r->end_ns - r->start_ns;
        if (r->end_ns && took > a->starts[r->index]) a->starts[r->index] = took;
    }
    int64_t at = a->first;
    for (uint32_t i = 0; i < a->longest; i++) {
        const int64_t took = a->starts[i];
        a->starts[i] = at;
        at += took + GAP_NS;
    }
    for (size_t i = 0; i < t->run_count; i++)
        if (t->runs[i].end_ns) a->shifts[i] = a->starts[t->runs[i].index] - t->runs[i].start_ns;
}

/* Workers are shared by the runners, so aligned they would overlap: each runner gets its own. */
static pgy_status worker_row(uint32_t *out, pgy_trace *t, uint32_t row, const trace_run *run,
                             pgy_error *err)
{
    const trace_row *of = &t->rows[run->row];
    const pgy_trace_row wanted = {of->process, WORKERS_OF_RUNNER + t->rows[row].thread,
                                  of->process_name, t->rows[row].name};
    size_t made = 0;
    const pgy_status st = pgy_trace_add_row(&made, t, &wanted, err);
    *out = (uint32_t)made;
    return st;
}

/* Shifts what belongs to runs. Phases of the host that end later than the first run begins have no
 * place in an aligned trace. */
static pgy_status shift(pgy_trace *t, const aligner *a, pgy_error *err)
{
    pgy_status st = PGY_OK;
    size_t kept = 0;
    for (size_t i = 0; !st && i < t->record_count; i++) {
        trace_record r = t->records[i];
        if (r.run == TRACE_NONE && r.end_ns > a->first) continue;
        if (r.run != TRACE_NONE) {
            r.start_ns += a->shifts[r.run];
            r.end_ns += a->shifts[r.run];
            if (r.kind == TRACE_WORKER) st = worker_row(&r.row, t, r.row, &t->runs[r.run], err);
        }
        t->records[kept++] = r;
    }
    t->record_count = kept;
    return st;
}

static pgy_status note_shifts(pgy_trace *t, const aligner *a, pgy_error *err)
{
    str s = {0};
    str_append_char(&s, '[');
    for (uint32_t p = 0; p < a->runners; p++)
        for (size_t i = 0; i < t->run_count; i++) {
            if (t->runs[i].runs != p || t->runs[i].index || !t->runs[i].end_ns) continue;
            if (s.size > 1) str_append_char(&s, ',');
            trace_milli(&s, a->shifts[i]);
        }
    str_append_char(&s, ']');
    pgy_status st =
        s.failed ? no_memory(err) : pgy_trace_set_fact(t, "align_shift_us", str_text(&s), err);
    if (!st) st = pgy_trace_set_text(t, "align", "run i of all runners starts together", err);
    str_deinit(&s);
    return st;
}

static pgy_status align_runs(pgy_trace *t, pgy_error *err)
{
    aligner a = {0};
    if (!can_align(t, &a)) return PGY_OK;
    a.starts = mem_calloc((size_t)a.longest + 1, sizeof *a.starts);
    a.shifts = mem_calloc(t->run_count + 1, sizeof *a.shifts);
    pgy_status st = a.starts && a.shifts ? PGY_OK : no_memory(err);
    if (!st) lay_out(t, &a);
    if (!st) st = shift(t, &a, err);
    if (!st) st = note_shifts(t, &a, err);
    mem_free(a.starts);
    mem_free(a.shifts);
    return st;
}

pgy_status trace_derive(pgy_trace *t, uint64_t max_records, bool align, pgy_error *err)
{
    deriver d = {.t = t, .most = max_records};
    name_runs(&d);
    pgy_status st = align ? align_runs(t, err) : PGY_OK;
    if (st) return st;
    pgy_trace_sort(t);
    count_memory(&d);
    count_workers(&d);
    t->taken.dropped += d.dropped;
    pgy_trace_sort(t);
    return d.failed ? no_memory(err) : PGY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Slices that two events make: begin and end of a thread (B, E), which nest, and asynchronous ones
 * (b, e and the older S, F), which an id connects. What has no partner is left out and counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "trace/trace.h"

static const int64_t FIRST_ASYNC_THREAD = 2000000000; /* threads of files have smaller numbers */
static const size_t NONE = SIZE_MAX;

typedef struct pairer {
    trace_reader *r;
    size_t *open; /* beginnings without an end, outermost first */
    size_t open_count, begins, ends;
    size_t first; /* record of the earliest event without a partner */
    bool *drop;   /* indexed by record: it is no event of its own */
    trace_record *records;
    pgy_error *err;
} pairer;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a trace");
}

/* ---- Order ---------------------------------------------------------------------------------- */

/* An edge with what it is sorted by. */
typedef struct sorted_edge {
    uintptr_t id;
    uint32_t row;
    int64_t ns;
    size_t record;
    bool is_end;
} sorted_edge;

static bool same_group(const sorted_edge *a, const sorted_edge *b)
{
    return a->id == b->id && (a->id || a->row == b->row);
}

/* By thread or id, then by time; of the same time, the order of the file counts. */
static int by_group(const void *a, const void *b)
{
    const sorted_edge *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    if (!x->id && x->row != y->row) return x->row < y->row ? -1 : 1;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

static sorted_edge *sort_edges(const trace_reader *r)
{
    sorted_edge *all = mem_calloc(r->edge_count + 1, sizeof *all);
    for (size_t i = 0; all && i < r->edge_count; i++) {
        const trace_edge *e = &r->edges[i];
        const trace_record *of = &r->trace->records[e->record];
        all[i] = (sorted_edge){e->id, of->row, of->start_ns, e->record, e->is_end};
    }
    if (all) qsort(all, r->edge_count, sizeof *all, by_group);
    return all;
}

/* ---- Pairs ---------------------------------------------------------------------------------- */

static const char *name_of(const pairer *p, size_t record)
{
    const pgy_trace *t = p->r->trace;
    return t->labels[t->records[record].label].name;
}

static void leave_out(pairer *p, size_t record, size_t *count)
{
    ++*count;
    p->drop[record] = true;
    if (p->first == NONE || p->records[record].start_ns < p->records[p->first].start_ns)
        p->first = record;
}

/* An end belongs to the innermost open slice of its name, or to the innermost one if it has none.
 * Slices inside that one have no end then. */
static void take_end(pairer *p, size_t record)
{
    const char *name = name_of(p, record);
    size_t depth = p->open_count;
    while (depth && *name && strcmp(name_of(p, p->open[depth - 1]), name)) depth--;
    if (!depth) {
        leave_out(p, record, &p->ends);
        return;
    }
    while (p->open_count > depth) leave_out(p, p->open[--p->open_count], &p->begins);
    p->records[p->open[--p->open_count]].end_ns = p->records[record].start_ns;
    p->drop[record] = true;
}

static void close_group(pairer *p)
{
    while (p->open_count) leave_out(p, p->open[--p->open_count], &p->begins);
}

static pgy_status pair_all(pairer *p, const sorted_edge *all)
{
    enum { CHECK_EVERY = 4096 };
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < p->r->edge_count; i++) {
        if (i && !same_group(&all[i], &all[i - 1])) close_group(p);
        if (all[i].is_end)
            take_end(p, all[i].record);
        else
            p->open[p->open_count++] = all[i].record;
        if (i % CHECK_EVERY == 0) st = cancel_check(p->err);
    }
    close_group(p);
    return st;
}

/* ---- Rows of asynchronous slices ------------------------------------------------------------- */

typedef struct lane {
    int64_t process, end_ns;
    uintptr_t id;
    uint32_t row;
} lane;

static int by_start(const void *a, const void *b)
{
    const sorted_edge *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

/* Asynchronous slices may overlap: each goes to the first row of its process that is free, or that
 * has an open slice of the same id around it. */
static pgy_status find_lane(lane **lanes, size_t *count, size_t *capacity, pairer *p,
                            const sorted_edge *e)
{
    pgy_trace *t = p->r->trace;
    trace_record *rec = &t->records[e->record];
    const trace_row *of = &t->rows[rec->row];
    int64_t used = 0;
    for (size_t i = 0; i < *count; i++) {
        lane *l = &(*lanes)[i];
        if (l->process != of->process) continue;
        used++;
        if (l->end_ns > rec->start_ns && (l->id != e->id || rec->end_ns > l->end_ns)) continue;
        if (l->end_ns <= rec->start_ns) *l = (lane){l->process, rec->end_ns, e->id, l->row};
        rec->row = l->row;
        return PGY_OK;
    }
    char name[48];
    size_t row = 0;
    const pgy_trace_row wanted = {of->process, FIRST_ASYNC_THREAD + used, of->process_name, name};
    snprintf(name, sizeof name, "asynchronous %lld", (long long)used);
    if (t->row_count >= TRACE_MOST_ROWS)
        return pgy_error_set(p->err, PGY_E_FORMAT,
                             "more than %d threads and asynchronous slices at one time",
                             TRACE_MOST_ROWS);
    const int64_t process = of->process;
    const pgy_status st = pgy_trace_add_row(&row, t, &wanted, p->err);
    if (st) return st;
    if (!mem_grow((void **)lanes, capacity, *count + 1, sizeof **lanes)) return no_memory(p->err);
    (*lanes)[(*count)++] = (lane){process, rec->end_ns, e->id, (uint32_t)row};
    rec->row = (uint32_t)row;
    return PGY_OK;
}

static pgy_status place_async(pairer *p, sorted_edge *all)
{
    lane *lanes = NULL;
    size_t count = 0, lane_count = 0, capacity = 0;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < p->r->edge_count; i++)
        if (all[i].id && !all[i].is_end && !p->drop[all[i].record]) all[count++] = all[i];
    if (count) qsort(all, count, sizeof *all, by_start);
    for (size_t i = 0; !st && i < count; i++) {
        st = find_lane(&lanes, &lane_count, &capacity, p, &all[i]);
        if (!st && i % 1024 == 0) st = cancel_check(p->err);
    }
    mem_free(lanes);
    return st;
}

/* ---- What is left out ------------------------------------------------------------------------ */

static pgy_status tell(const pairer *p)
{
    pgy_trace *t = p->r->trace;
    pgy_status st = PGY_OK;
    if (p->first == NONE) return PGY_OK;
    st = pgy_trace_set_number(t, "unmatched_begins", (double)p->begins, p->err);
    if (!st) st = pgy_trace_set_number(t, "unmatched_ends", (double)p->ends, p->err);
    return st ? st : pgy_trace_set_text(t, "unmatched_first", name_of(p, p->first), p->err);
}

static void drop_records(const pairer *p)
{
    pgy_trace *t = p->r->trace;
    size_t kept = 0;
    for (size_t i = 0; i < t->record_count; i++)
        if (!p->drop[i]) t->records[kept++] = t->records[i];
    t->record_count = kept;
}

pgy_status trace_pair_edges(trace_reader *r, pgy_error *err)
{
    if (!r->edge_count) return PGY_OK;
    sorted_edge *all = sort_edges(r);
    pairer p = {.r = r, .first = NONE, .records = r->trace->records, .err = err};
    p.open = mem_calloc(r->edge_count + 1, sizeof *p.open);
    p.drop = mem_calloc(r->trace->record_count + 1, sizeof *p.drop);
    pgy_status st = all && p.open && p.drop ? PGY_OK : no_memory(err);
    if (!st) st = pair_all(&p, all);
    if (!st) st = place_async(&p, all);
    if (!st) st = tell(&p);
    if (!st) drop_records(&p);
    mem_free(all);
    mem_free(p.open);
    mem_free(p.drop);
    return st;
}

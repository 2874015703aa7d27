/* SPDX-License-Identifier: Apache-2.0 */
/* Projects ranges of the host to the device. A call inside a range enqueued the work that has its
 * correlation; the range's time on the device is that from its first work to its last. The
 * innermost range around a call is the layer; the ranges that runtimes put around a whole run are
 * runs. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "trace/nsys.h"

static const size_t NONE = SIZE_MAX;
enum { CHECK_EVERY = 4096 };

/* ---- Ranges around calls --------------------------------------------------------------------- */

static int by_thread(const void *a, const void *b)
{
    const nsys_range *x = a, *y = b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (y->end > x->end) - (y->end < x->end);
}

static int by_caller(const void *a, const void *b)
{
    const nsys_call *x = a, *y = b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

static size_t pop_ended(const nsys_reader *n, size_t top, int64_t now)
{
    while (top != NONE && n->ranges[top].end <= now) top = n->ranges[top].parent;
    return top;
}

/* Names of ranges that TensorRT, PyTorch and this library put around a run. */
static bool is_run(const char *name)
{
    static const char *const RUNS[] = {"ExecutionContext::enqueue", "ExecutionContext::execute",
                                       "ProfilerStep#", "run "};
    for (size_t i = 0; i < sizeof RUNS / sizeof *RUNS; i++)
        if (!strncmp(name, RUNS[i], strlen(RUNS[i]))) return true;
    return false;
}

static void push(nsys_reader *n, size_t range, size_t around)
{
    nsys_range *r = &n->ranges[range];
    r->parent = around;
    r->run = around == NONE ? NONE : n->ranges[around].run;
    if (r->run == NONE && is_run(r->name)) r->run = range;
}

/* Both lists are sorted by thread and start; `top` is the innermost range that is open. */
static void find_ranges(nsys_reader *n)
{
    size_t next = 0, top = NONE;
    for (size_t i = 0; i < n->call_count; i++) {
        nsys_call *c = &n->calls[i];
        if (i && c->thread != c[-1].thread) top = NONE;
        while (next < n->range_count && n->ranges[next].thread < c->thread) next++;
        for (; next < n->range_count && n->ranges[next].thread == c->thread &&
               n->ranges[next].start <= c->start;
             next++) {
            push(n, next, pop_ended(n, top, n->ranges[next].start));
            top = next;
        }
        top = pop_ended(n, top, c->start);
        c->range = top;
    }
}

/* ---- Calls of works -------------------------------------------------------------------------- */

static int64_t process_of(const nsys_reader *n, const nsys_call *c)
{
    return n->knows_process ? c->thread >> NSYS_PROCESS_BITS : 0;
}

/* With the process in place of the thread. */
static int by_correlation(const void *a, const void *b)
{
    const nsys_call *x = a, *y = b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    if (x->correlation != y->correlation) return x->correlation < y->correlation ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

static const nsys_call *find_call(const nsys_reader *n, const nsys_work *w)
{
    const int64_t process = n->knows_process ? w->process : 0;
    size_t from = 0, to = n->call_count;
    while (from < to) {
        const size_t at = from + (to - from) / 2;
        const nsys_call *c = &n->calls[at];
        const bool before =
            c->thread != process ? c->thread < process : c->correlation < w->correlation;
        if (before)
            from = at + 1;
        else
            to = at;
    }
    const nsys_call *found = from < n->call_count ? &n->calls[from] : NULL;
    return found && found->thread == process && found->correlation == w->correlation ? found : NULL;
}

/* ---- Spans on devices ------------------------------------------------------------------------ */

typedef struct device_span {
    size_t range;
    int64_t device, start, end;
    bool is_run;
} device_span;

static int by_range(const void *a, const void *b)
{
    const device_span *x = a, *y = b;
    if (x->is_run != y->is_run) return x->is_run ? 1 : -1;
    if (x->range != y->range) return x->range < y->range ? -1 : 1;
    return (x->device > y->device) - (x->device < y->device);
}

/* Of each work up to two spans: of its layer and of its run. */
static size_t collect(const nsys_reader *n, device_span *out, pgy_status *st)
{
    size_t count = 0;
    for (size_t i = 0; !*st && i < n->work_count; i++) {
        const nsys_work *w = &n->works[i];
        const nsys_call *c = find_call(n, w);
        if (i % CHECK_EVERY == 0) *st = cancel_check(n->err);
        if (!c || c->range == NONE) continue;
        const size_t run = n->ranges[c->range].run;
        out[count++] = (device_span){c->range, w->device, w->start, w->end, false};
        if (run != NONE) out[count++] = (device_span){run, w->device, w->start, w->end, true};
    }
    return count;
}

static pgy_status add_span(nsys_reader *n, const device_span *s)
{
    pgy_trace_event e = {.kind = PGY_TRACE_SLICE,
                         .name = s->is_run ? "run" : n->ranges[s->range].name,
                         .category = s->is_run ? "iteration" : "layer",
                         .start_ns = s->start,
                         .duration_ns = s->end - s->start};
    const pgy_status st = nsys_device_row(&e.row, n, s->device, s->is_run ? 0 : 1,
                                          s->is_run ? "iterations" : "layers");
    return st ? st : nsys_add(n, &e, NULL);
}

static pgy_status add_spans(nsys_reader *n, device_span *all, size_t count)
{
    pgy_status st = PGY_OK;
    if (count) qsort(all, count, sizeof *all, by_range);
    for (size_t from = 0, to = 0; !st && from < count; from = to) {
        device_span whole = all[from];
        for (to = from; to < count && !by_range(&all[to], &whole); to++) {
            if (all[to].start < whole.start) whole.start = all[to].start;
            if (all[to].end > whole.end) whole.end = all[to].end;
        }
        st = add_span(n, &whole);
    }
    return st;
}

pgy_status nsys_project(nsys_reader *n)
{
    pgy_status st = PGY_OK;
    if (!n->range_count || !n->call_count || !n->work_count) return PGY_OK;
    device_span *all = mem_calloc(2 * n->work_count + 1, sizeof *all);
    if (!all) return nsys_no_memory(n->err);
    qsort(n->ranges, n->range_count, sizeof *n->ranges, by_thread);
    qsort(n->calls, n->call_count, sizeof *n->calls, by_caller);
    find_ranges(n);
    for (size_t i = 0; i < n->call_count; i++) n->calls[i].thread = process_of(n, &n->calls[i]);
    qsort(n->calls, n->call_count, sizeof *n->calls, by_correlation);
    const size_t count = collect(n, all, &st);
    if (!st) st = add_spans(n, all, count);
    mem_free(all);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Traced runs: when each thread had its part of a step. */
#include "base/alloc.h"
#include "base/ranges.h"
#include "base/system.h"
#include "base/tracer.h"
#include "engine/program/run_parts.h"
#include "engine/program/traced.h"

enum { TRACE_LINE = 8 }; /* times in a cache line */

static void make_labels(program_context *c)
{
    device_trace_destroy(c->on_devices);
    mem_free(c->labels);
    c->on_devices = NULL;
    c->epoch = tracer_epoch();
    if (!c->ends) c->ends = mem_calloc(c->p->step_count + 1, sizeof *c->ends);
    if (!c->part_ends)
        c->part_ends = mem_calloc(2 * team_size(c->team) * TRACE_LINE, sizeof *c->part_ends);
    c->labels =
        c->ends && c->part_ends ? traced_labels(c->p, c->launches, team_size(c->team)) : NULL;
    if (c->labels && c->devices) c->on_devices = device_trace_create(c->p, c->devices, c->labels);
}

void program_context_trace(program_context *c)
{
    if (!tracer_is_on()) return;
    c->row = tracer_row(TRACE_LAYER);
    if (c->row == TRACE_NONE) return;
    if (!c->labels || c->epoch != tracer_epoch()) make_labels(c);
    if (c->on_devices) device_trace_rows(c->on_devices);
}

uint32_t program_context_step_row(const program_context *c, size_t step)
{
    return c->on_devices && c->p->steps[step].space ? device_trace_row(c->on_devices, step)
                                                    : c->row;
}

int64_t program_context_step_end(const program_context *c, size_t step)
{
    return c->ends ? c->ends[step] : clock_ns();
}

typedef struct traced_run {
    program_stretch part; /* first, for `program_run_stretches` */
    program_context *c;
    const uint32_t *labels; /* NULL: only NVTX ranges are wanted */
    uint32_t run;
    bool on_devices;  /* the context's device_trace records steps on devices */
    int64_t start_ns; /* before any thread began */
} traced_run;

/* Where thread `thread` writes when it ended its part of a shared step; each has a cache line. */
static int64_t *end_slot(const program_context *c, size_t index, size_t thread)
{
    return c->part_ends + (2 * thread + (index & 1)) * TRACE_LINE;
}

/* Number of threads that share a step. */
static uint32_t sharers(const program_context *c, size_t index)
{
    const size_t parts = c->launches[index].run.parts, size = team_size(c->team);
    return (uint32_t)(parts < size ? parts : size);
}

/* Has this thread a part of the step, or its own range of parts? */
static bool takes_part(const program_context *c, size_t index, size_t thread)
{
    const program_step *s = &c->p->steps[index];
    return thread == 0 || (s->kernel && !s->space && thread < sharers(c, index));
}

/* When the last of the threads that shared a step ended it. They wrote the times before the barrier
 * behind the step; those of the next step have other slots, because it may have begun. */
static int64_t last_end(const program_context *c, size_t index)
{
    const uint32_t threads = sharers(c, index);
    int64_t last = 0;
    for (uint32_t i = 0; i < threads; i++) {
        const int64_t end = *end_slot(c, index, i);
        if (end > last) last = end;
    }
    return last;
}

/* The first thread records a layer, from `layer_begin` to `all_end`. */
static void trace_layer(const traced_run *r, size_t index, int64_t layer_begin, int64_t all_end)
{
    const program_context *c = r->c;
    ranges_pop();
    if (!r->labels) return;
    tracer_span(TRACE_LAYER, r->labels[index], c->row, layer_begin, all_end);
    c->ends[index] = all_end;
}

/* A step that the first thread enqueues, or waits for: its call is recorded now, the work itself
 * behind the run. */
static void trace_enqueued(const traced_run *r, size_t index)
{
    program_context *c = r->c;
    device_trace_before(c->on_devices, index);
    const int64_t begin = clock_ns();
    program_run_step(c, index, 0);
    const int64_t end = clock_ns();
    ranges_pop();
    device_trace_after(c->on_devices, index, begin, end);
    c->ends[index] = end;
}

/* Like walk, with clocks. A barrier stands behind each shared step instead of before the next one,
 * so that the first thread knows when all threads have ended the step. */
static void walk_traced(size_t thread, size_t size, void *user)
{
    const traced_run *r = user;
    program_context *c = r->c;
    bool together = true; /* no thread is ahead of another */
    int64_t begin = clock_ns(), layer_begin = r->part.first ? begin : r->start_ns;
    (void)size;
    for (size_t i = r->part.first; i < r->part.end; i++) {
        const uint32_t threads = sharers(c, i);
        if (!together && threads > 1) {
            team_barrier(c->team, thread);
            begin = clock_ns();
        }
        if (thread == 0) ranges_push(c->p->steps[i].label);
        if (r->on_devices && device_trace_takes(c->on_devices, i)) {
            if (thread == 0) trace_enqueued(r, i);
            together = false;
            layer_begin = begin = clock_ns();
            continue;
        }
        program_run_step(c, i, thread);
        if (c->devices && thread == 0 && !r->on_devices) program_run_settle(c, (uint32_t)i);
        const int64_t end = clock_ns();
        int64_t all_end = end;
        together = threads > 1;
        if (threads > 1) {
            if (r->labels && thread < threads) *end_slot(c, i, thread) = end;
            team_barrier(c->team, thread);
            if (r->labels && thread == 0) all_end = last_end(c, i);
        }
        if (r->labels && c->shared && takes_part(c, i, thread))
            tracer_work(r->labels[i], r->run, begin, end, (uint32_t)thread, threads);
        if (thread == 0) trace_layer(r, i, layer_begin, all_end);
        layer_begin = all_end;
        begin = threads > 1 ? clock_ns() : end;
    }
}

void program_run_traced(program_context *c)
{
    const bool records = c->labels && c->row != TRACE_NONE && c->epoch == tracer_epoch();
    traced_run r = {.c = c,
                    .labels = records ? c->labels : NULL,
                    .run = tracer_run(),
                    .on_devices = records && c->on_devices};
    if (r.on_devices) device_trace_start(c->on_devices);
    r.start_ns = clock_ns();
    program_run_stretches(c, walk_traced, &r.part, &r);
    if (r.on_devices && !atomic_load_explicit(c->failed, memory_order_relaxed))
        device_trace_finish(c->on_devices, c->ends);
}

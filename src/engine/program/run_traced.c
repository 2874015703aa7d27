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
        c->part_ends = mem_calloc(team_size(c->team) * TRACE_LINE, sizeof *c->part_ends);
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

/* Where thread `thread` writes when it ended its parts of a step; each has a cache line. */
static int64_t *end_slot(const program_context *c, size_t thread)
{
    return c->part_ends + thread * TRACE_LINE;
}

/* Number of threads that may share a step. */
static uint32_t sharers(const program_context *c, size_t index)
{
    const size_t parts = c->launches[index].run.parts, size = team_size(c->team);
    return (uint32_t)(parts < size ? parts : size);
}

/* When the last of the threads that shared a step ended it. Others wrote earlier times. */
static int64_t last_end(const program_context *c)
{
    int64_t last = 0;
    for (size_t i = 0; i < team_size(c->team); i++)
        if (*end_slot(c, i) > last) last = *end_slot(c, i);
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
    program_run_step(c, index);
    const int64_t end = clock_ns();
    ranges_pop();
    device_trace_after(c->on_devices, index, begin, end);
    c->ends[index] = end;
}

/* Records this thread's parts of a shared step, if it had any. */
static void trace_parts(const traced_run *r, size_t index, size_t thread, int64_t begin)
{
    const int64_t end = r->labels ? *end_slot(r->c, thread) : 0;
    if (end < begin || !r->labels) return;
    tracer_work(r->labels[index], r->run, begin, end, (uint32_t)thread, sharers(r->c, index));
}

/* Runs a step of the first thread, and returns its end. */
static int64_t run_traced_alone(const traced_run *r, size_t index)
{
    program_context *c = r->c;
    const int64_t begin = clock_ns();
    program_run_step(c, index);
    if (c->devices && !r->on_devices) program_run_settle(c, (uint32_t)index);
    const int64_t end = clock_ns();
    if (r->labels && c->shared) tracer_work(r->labels[index], r->run, begin, end, 0, 1);
    return end;
}

/* Like walk, with clocks. Behind each step comes a round of the first thread, who then knows when
 * all have ended the step. */
static void walk_traced(size_t thread, size_t size, void *user)
{
    const traced_run *r = user;
    program_context *c = r->c;
    int64_t layer_begin = r->part.first ? clock_ns() : r->start_ns;
    for (size_t i = r->part.first; i < r->part.end; i++) {
        const bool shared = c->launches[i].run.parts > 1;
        int64_t begin = 0, end;
        if (!shared && size > 1 && !team_alone(c->team, thread)) continue;
        if (thread == 0) ranges_push(c->p->steps[i].label);
        if (shared) {
            int64_t *slot = r->labels ? end_slot(c, thread) : NULL;
            if (!program_share_step(c, i, thread, &begin, slot)) return;
            trace_parts(r, i, thread, begin);
            if (!team_alone(c->team, thread)) continue;
            end = r->labels ? last_end(c) : 0;
        } else if (r->on_devices && device_trace_takes(c->on_devices, i)) {
            trace_enqueued(r, i);
            layer_begin = clock_ns();
            continue;
        } else {
            end = run_traced_alone(r, i);
        }
        trace_layer(r, i, layer_begin, end);
        layer_begin = end;
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

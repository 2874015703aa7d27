/* SPDX-License-Identifier: Apache-2.0 */
/* Runs: which thread has which one open, and what they leave behind. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "base/tracer_state.h"

static _Thread_local struct {
    uint32_t run, epoch, process, lane;
    bool is_warm_up, no_checks;
    int64_t start_ns, end_ns; /* as tracer_run_took said; 0: it did not */
} now = {.run = TRACE_NONE};

static atomic_uint_fast64_t next_key;
static _Thread_local uint64_t key; /* of this thread; 0: none yet */

/* ---- Begin ---------------------------------------------------------------------------------- */

static trace_process *find_process(tracer_store *s, const char *name)
{
    for (size_t i = 0; i < s->process_count; i++)
        if (!strcmp(s->processes[i].name, name)) return &s->processes[i];
    if (!mem_grow((void **)&s->processes, &s->process_capacity, s->process_count + 1,
                  sizeof *s->processes))
        return NULL;
    trace_process *p = &s->processes[s->process_count];
    *p = (trace_process){.name = arena_strdup(&s->memory, name),
                         .first = TRACE_NONE,
                         .last = TRACE_NONE,
                         .slowest = TRACE_NONE,
                         .first_warm_up = TRACE_NONE,
                         .last_warm_up = TRACE_NONE,
                         .stride = 1};
    if (!p->name) return NULL;
    s->process_count++;
    return p;
}

/* A thread that runs a process beside another one gets rows of its own, the first thread the first
 * ones. */
static uint32_t find_lane(trace_process *p)
{
    if (!key) key = atomic_fetch_add(&next_key, 1) + 1;
    for (size_t i = 0; i < p->lane_count; i++)
        if (p->lanes[i] == key) return (uint32_t)i;
    if (p->lane_count == MAX_LANES) return MAX_LANES - 1;
    p->lanes[p->lane_count] = key;
    return (uint32_t)p->lane_count++;
}

enum { FIRST_DEVICE_ROW = 4 }; /* behind the rows of lane_row */

static uint32_t lane_row(tracer_store *s, uint32_t process, uint32_t lane, trace_kind kind)
{
    static const char *const NAMES[] = {[TRACE_RUN] = "iterations",
                                        [TRACE_LAYER] = "layers",
                                        [TRACE_COPY] = "transfers",
                                        [TRACE_ENQUEUE] = "enqueue"};
    static const int64_t THREADS[] = {
        [TRACE_RUN] = 0, [TRACE_LAYER] = 1, [TRACE_COPY] = 2, [TRACE_ENQUEUE] = 3};
    char name[64], title[160];
    snprintf(name, sizeof name, lane ? "%s, stream %u" : "%s", NAMES[kind], lane);
    snprintf(title, sizeof title, "runner %u: %.120s", process, s->processes[process].name);
    return store_row(s, 10 + (int64_t)process, title,
                     THREADS[kind] + (int64_t)lane * TRACE_ROWS_PER_STREAM, name);
}

uint32_t tracer_row(trace_kind kind)
{
    tracer_store *s = tracer_lock();
    uint32_t row = TRACE_NONE;
    if (!s) return TRACE_NONE;
    if (now.run != TRACE_NONE && now.epoch == tracer_epoch())
        row = lane_row(s, now.process, now.lane, kind);
    tracer_unlock(s);
    return row;
}

uint32_t tracer_device_layers(size_t space, const char *device_name)
{
    tracer_store *s = tracer_lock();
    uint32_t row = TRACE_NONE;
    if (!s) return TRACE_NONE;
    if (now.run != TRACE_NONE && now.epoch == tracer_epoch()) {
        char name[96];
        snprintf(name, sizeof name, now.lane ? "layers, %.48s, stream %u" : "layers, %.48s",
                 device_name, now.lane);
        row = store_row(s, 10 + (int64_t)now.process, NULL,
                        FIRST_DEVICE_ROW + (int64_t)space - 1 +
                            (int64_t)now.lane * TRACE_ROWS_PER_STREAM,
                        name);
    }
    tracer_unlock(s);
    return row;
}

uint32_t tracer_device_row(size_t device, const char *device_name)
{
    tracer_store *s = tracer_lock();
    uint32_t row = TRACE_NONE;
    if (!s) return TRACE_NONE;
    if (now.run != TRACE_NONE && now.epoch == tracer_epoch()) {
        char process[160], name[64];
        snprintf(process, sizeof process, "device %zu: %.120s", device, device_name);
        snprintf(name, sizeof name, "stream %u of runner %u", now.lane, now.process);
        row = store_row(s, 100 + (int64_t)device, process,
                        1 + (int64_t)now.process * MAX_LANES + now.lane, name);
    }
    tracer_unlock(s);
    return row;
}

static uint32_t begin(tracer_store *s, const char *runner)
{
    trace_process *p = find_process(s, runner);
    if (!p || !mem_grow((void **)&s->runs, &s->run_capacity, s->run_count + 1, sizeof *s->runs))
        return TRACE_NONE;
    now.process = (uint32_t)(p - s->processes);
    now.lane = find_lane(p);
    now.epoch = tracer_epoch();
    now.start_ns = now.end_ns = 0;
    s->runs[s->run_count] = (trace_run){.runs = now.process,
                                        .row = lane_row(s, now.process, now.lane, TRACE_RUN),
                                        .index = p->count};
    return now.run = (uint32_t)s->run_count++;
}

uint32_t tracer_run(void)
{
    return now.epoch == tracer_epoch() ? now.run : TRACE_NONE;
}

uint32_t tracer_run_begin(const char *runner)
{
    if (tracer_run() != TRACE_NONE) return TRACE_NONE;
    tracer_store *s = tracer_lock();
    if (!s) return TRACE_NONE;
    const uint32_t made = begin(s, runner);
    tracer_unlock(s);
    return made;
}

uint32_t tracer_run_index(void)
{
    const uint32_t run = tracer_run();
    tracer_store *s = run == TRACE_NONE ? NULL : tracer_lock();
    if (!s) return 0;
    const uint32_t index = s->runs[run].index;
    tracer_unlock(s);
    return index;
}

void tracer_run_took(int64_t start_ns, int64_t end_ns)
{
    now.start_ns = start_ns;
    now.end_ns = end_ns;
}

bool tracer_checks_values(void)
{
    return tracer_run() != TRACE_NONE && (!now.no_checks || !tracer_run_index());
}

void tracer_set_checks(bool on)
{
    now.no_checks = !on;
}

void tracer_set_warm_up(bool on)
{
    now.is_warm_up = on;
}

bool tracer_is_warm_up(void)
{
    return now.is_warm_up;
}

/* ---- End ------------------------------------------------------------------------------------ */

void tracer_run_end(uint32_t run, int64_t start_ns, int64_t end_ns, bool is_warm_up)
{
    if (run == TRACE_NONE) return;
    tracer_store *s = tracer_run() == run ? tracer_lock() : NULL;
    now.run = TRACE_NONE;
    if (!s) return;
    trace_run *r = &s->runs[run];
    r->index = s->processes[r->runs].count;
    r->start_ns = start_ns;
    r->end_ns = end_ns;
    r->is_warm_up = is_warm_up;
    store_note_end(s, run);
    const trace_record made = {.start_ns = start_ns,
                               .end_ns = end_ns,
                               .kind = TRACE_RUN,
                               .label = store_name(s, "run"),
                               .row = r->row,
                               .run = run,
                               .words = {r->index, is_warm_up, 1}};
    tracer_unlock(s);
    tracer_put(&made);
    tracer_drain();
}

void tracer_run_end_as_told(uint32_t run, int64_t start_ns, int64_t end_ns)
{
    const bool told = now.end_ns > 0;
    tracer_run_end(run, told ? now.start_ns : start_ns, told ? now.end_ns : end_ns, now.is_warm_up);
}

void tracer_run_drop(uint32_t run)
{
    if (run == TRACE_NONE) return;
    now.run = TRACE_NONE;
    now.no_checks = false;
}

void tracer_span(trace_kind kind, uint32_t label, uint32_t row, int64_t start_ns, int64_t end_ns)
{
    const trace_record made = {.start_ns = start_ns,
                               .end_ns = end_ns,
                               .kind = kind,
                               .label = label,
                               .row = row,
                               .run = tracer_run()};
    tracer_put(&made);
}

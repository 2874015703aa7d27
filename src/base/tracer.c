/* SPDX-License-Identifier: Apache-2.0 */
/* Phases, and the beginning and end of a recording. */
#include "base/tracer.h"

#include "base/ranges.h"
#include "base/system.h"
#include "base/tracer_state.h"

enum { MAX_PHASES = 32, EMPTY_RANGES = 4096 };

typedef struct phase {
    uint32_t label;
    int64_t start_ns;
} phase;

/* What belongs to a thread. */
static _Thread_local struct {
    bool is_owner; /* it started the recording */
    uint32_t phase_epoch;
    phase phases[MAX_PHASES];
    size_t depth;
} mine;

/* ---- Phases --------------------------------------------------------------------------------- */

static bool has_phases(void)
{
    if (!mine.is_owner || !tracer_is_recording()) return false;
    if (mine.phase_epoch == tracer_epoch()) return true;
    return mine.is_owner = false;
}

uint32_t tracer_phase_row(void)
{
    return tracer_is_on() && has_phases() ? 0 : TRACE_NONE;
}

void tracer_phase_begin(const char *what)
{
    if (!tracer_is_on() && !tracer_is_recording()) return;
    ranges_push(what);
    if (!has_phases()) return;
    if (mine.depth < MAX_PHASES) mine.phases[mine.depth] = (phase){tracer_name(what), clock_ns()};
    mine.depth++;
}

void tracer_phase_end(void)
{
    if (!tracer_is_on() && !tracer_is_recording()) return;
    ranges_pop();
    if (!has_phases() || !mine.depth || --mine.depth >= MAX_PHASES) return;
    const phase *p = &mine.phases[mine.depth];
    const trace_record made = {.start_ns = p->start_ns,
                               .end_ns = clock_ns(),
                               .kind = TRACE_PHASE,
                               .label = p->label,
                               .row = 0,
                               .run = TRACE_NONE};
    tracer_put(&made);
}

/* ---- A recording ---------------------------------------------------------------------------- */

static void set_records(bool on)
{
    if (on)
        atomic_fetch_or(&tracer_state, TRACER_RECORDS);
    else
        atomic_fetch_and(&tracer_state, ~(unsigned)TRACER_RECORDS);
}

/* The cost of a slice: two clocks and a record. */
static double measure_cost(void)
{
    const uint32_t label = tracer_name("empty");
    int64_t best = INT64_MAX;
    for (int round = 0; round < 4; round++) {
        const int64_t start = clock_ns();
        for (int i = 0; i < EMPTY_RANGES; i++) {
            const int64_t begin = clock_ns();
            tracer_span(TRACE_LAYER, label, 0, begin, clock_ns());
        }
        const int64_t took = clock_ns() - start;
        if (took < best) best = took;
        tracer_store *store = tracer_hold();
        rings_empty(false);
        tracer_unlock(store);
    }
    return (double)best / EMPTY_RANGES;
}

pgy_status tracer_start(const tracer_limits *limits, pgy_error *err)
{
    tracer_store *store = tracer_hold();
    if (tracer_is_recording()) {
        tracer_unlock(store);
        return pgy_error_set(err, PGY_E_ARGUMENT, "a trace is being recorded already");
    }
    rings_empty(false);
    store_open(store, limits);
    const bool ok = store_row(store, 1, "host", 0, "phases") == 0;
    tracer_set_recording(ok);
    if (!ok) store_close(store);
    tracer_unlock(store);
    if (!ok) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a trace");
    mine.is_owner = true;
    mine.phase_epoch = tracer_epoch();
    mine.depth = 0;
    set_records(true);
    store->cost_ns = measure_cost();
    store->dropped = 0;
    store->start_ns = clock_ns();
    return PGY_OK;
}

void tracer_pause(bool on)
{
    set_records(!on && tracer_is_recording());
}

pgy_status tracer_stop(tracer_take *out, pgy_error *err)
{
    if (!tracer_is_recording())
        return pgy_error_set(err, PGY_E_ARGUMENT, "no trace is being recorded");
    set_records(true); /* also for the phases that were open in a pause */
    while (mine.is_owner && mine.depth) tracer_phase_end();
    set_records(false);
    tracer_store *store = tracer_hold();
    tracer_set_recording(false);
    rings_empty(out != NULL);
    const bool ok = !out || store_take(out, store);
    store_close(store);
    tracer_unlock(store);
    return ok ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory for a trace");
}

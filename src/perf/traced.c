/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of the measured loop in a trace: the run, and the copies before and after it. */
#include "perf/perf.h"

uint32_t perf_trace_begin(perf_lane *l)
{
    if (!tracer_is_on()) return TRACE_NONE;
    tracer_set_checks(false);
    const char *name = pgy_engine_name(pgy_context_engine(perf_lane_context(l)));
    return tracer_run_begin(name && *name ? name : "engine");
}

static void put_copy(const char *name, uint32_t run, uint32_t row, uint64_t bytes, int64_t start,
                     int64_t end)
{
    const trace_record r = {.start_ns = start,
                            .end_ns = end,
                            .kind = TRACE_COPY,
                            .label = tracer_name(name),
                            .row = row,
                            .run = run,
                            .words = {bytes}};
    tracer_put(&r);
}

void perf_trace_end(uint32_t run, const perf_lane *l, const perf_clocks *c, bool is_warm_up)
{
    uint64_t in, out;
    if (run == TRACE_NONE) return;
    tracer_set_checks(true);
    perf_lane_bytes(l, &in, &out);
    if (c->has_copies) {
        const uint32_t row = tracer_row(TRACE_COPY);
        put_copy("H2D", run, row, in, c->begin, c->copied);
        put_copy("D2H", run, row, out, c->end, c->out);
    }
    tracer_run_end(run, c->has_copies ? c->begin : c->start, c->out, is_warm_up);
}

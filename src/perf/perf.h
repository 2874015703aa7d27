/* SPDX-License-Identifier: Apache-2.0 */
/* The perf layer: a trace is a list of runs; measure.c fills it, stats.c and report.c read it. */
#ifndef PERF_PERF_H
#define PERF_PERF_H

#include <polygraphy/perf.h>
#include <polygraphy/runtime.h>

#include "base/json.h"
#include "base/tracer.h"

struct pgy_perf_trace {
    pgy_perf_run *runs;
    size_t count, capacity, warm_up_count;
    size_t dropped; /* measured runs before those of `runs` */
    double preparation_ms; /* of all runs */
    size_t prepared_count; /* measured runs that prepared something */
};

/* Copies of a metric's times in ascending order; the caller frees them (mem_free). */
pgy_status perf_sorted(double **out, const pgy_perf_trace *t, pgy_perf_metric metric,
                       pgy_error *err) PGY_MUST_CHECK;
double perf_median(const double *sorted, size_t count);
pgy_perf_stats perf_stats_of(const pgy_perf_trace *t, pgy_perf_metric metric, const double *sorted);
/* The index of a percentile among `count` sorted values. */
size_t perf_percentile_index(size_t count, double p, bool like_trtexec);

/* Texts of the files; `path` is the name in errors. The writer is for json_save: `user` is a
 * pgy_perf_trace. */
pgy_status perf_times_parse(pgy_perf_trace **out, span text, const char *path,
                            pgy_error *err) PGY_MUST_CHECK;
pgy_status perf_times_write(json_writer *w, const void *user, pgy_error *err) PGY_MUST_CHECK;

pgy_status perf_summary_parse(pgy_bench **out, span text, const char *path,
                              pgy_error *err) PGY_MUST_CHECK;

/* A context with its own copies of all inputs and outputs, at fixed addresses. */
typedef struct perf_lane perf_lane;
pgy_status perf_lane_create(perf_lane **out, pgy_engine *engine, const pgy_tensor_map *feed,
                            const pgy_perf_options *o, pgy_error *err) PGY_MUST_CHECK;
void perf_lane_destroy(perf_lane *l);
pgy_context *perf_lane_context(perf_lane *l);
void perf_lane_copy_in(perf_lane *l);
void perf_lane_copy_out(perf_lane *l);
/* Bytes that a run copies in and out. */
void perf_lane_bytes(const perf_lane *l, uint64_t *in, uint64_t *out);
/* The outputs of the last run, as tensors of their own. */
pgy_status perf_lane_outputs(pgy_tensor_map **out, perf_lane *l, pgy_error *err) PGY_MUST_CHECK;

/* ---- traced.c ---- */
/* When the parts of a run began and ended, by clock_ns. */
typedef struct perf_clocks {
    int64_t begin, copied, start, end, out;
    bool has_copies;
} perf_clocks;
/* Opens a run of a trace; TRACE_NONE: nothing is recorded. */
uint32_t perf_trace_begin(perf_lane *l);
void perf_trace_end(uint32_t run, const perf_lane *l, const perf_clocks *c, bool is_warm_up);

#endif

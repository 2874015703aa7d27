/* SPDX-License-Identifier: Apache-2.0 */
/* Summaries of traces in memory. */
#ifndef TRACE_SUMMARY_H
#define TRACE_SUMMARY_H

#include <polygraphy/trace_summary.h>

#include "trace/trace.h"

struct pgy_trace_summary {
    const char *name, *category, *source;
    size_t event_count;
    pgy_trace_process *processes;
    size_t process_count;
    pgy_trace_category *categories;
    size_t category_count;
    double overhead_ns; /* of recording a slice; negative: unknown */
    double dropped;     /* events that the recording lost */
    arena memory;
};

struct pgy_trace_diff {
    const pgy_trace_summary *a, *b;
    const pgy_trace_process *process_a, *process_b;
    pgy_trace_diff_row *layers, *ops, runs;
    size_t layer_count, op_count;
    const pgy_trace_times **only_a, **only_b;
    size_t only_a_count, only_b_count;
    bool has_runs;
    arena memory;
};

enum { TRACE_SHOWN = 20 };
double trace_median(double *values, size_t count); /* sorts them */
/* Probability of the ranks of a and b if both have the same distribution, by the normal
 * approximation of the Mann-Whitney test with its correction for ties. *b_greater: b tends to be
 * greater. Negative: out of memory. */
double trace_rank_test(const double *a, size_t a_count, const double *b, size_t b_count,
                       bool *b_greater);
void trace_times_json(json_writer *w, const pgy_trace_times *t);
/* Appends "conv1 [Conv]" as one line. */
void trace_put_name(str *out, const pgy_trace_times *t);

#endif

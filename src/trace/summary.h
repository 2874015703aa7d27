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
    double gap_us;
    double overhead_ns; /* of recording a slice; negative: unknown */
    double dropped;     /* events that the recording lost */
    double unmatched_begins, unmatched_ends;
    const char *unmatched_first; /* its name; NULL: none */
    bool is_cut_off, is_default_category;
    bool has_peaks;
    pgy_machine_peaks peaks;
    const char *other_machine; /* why the peaks may not be those of the recording; NULL: they are */
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
/* Fills the times, p and verdicts of rows whose `a` and `b` are given, as pgy_trace_diff does. */
pgy_status trace_judge_rows(pgy_trace_diff_row *rows, size_t count, pgy_error *err) PGY_MUST_CHECK;
/* Of values in ascending order the one of which `share` of all are not greater. */
double trace_percentile(const double *values, size_t count, double share);
void trace_put_gaps(str *out, const pgy_trace_summary *s, const pgy_trace_process *p, size_t shown,
                    const char *more);
void trace_gaps_json(json_writer *w, const pgy_trace_process *p);
/* Fills the roofs of all processes. */
pgy_status trace_find_roofs(pgy_trace_summary *s, const pgy_trace *t,
                            pgy_error *err) PGY_MUST_CHECK;
void trace_put_roofs(str *out, const pgy_trace_summary *s, const pgy_trace_process *p, size_t shown,
                     const char *more);
void trace_roofs_json(json_writer *w, const pgy_trace_process *p);
/* Appends a number in a column; "-" if it is not known. */
void trace_put_us(str *out, int width, double us);
/* A time of a call or run that stands for all. */
double trace_per_run(const pgy_trace_times *t);
void trace_times_json(json_writer *w, const pgy_trace_times *t);
/* Appends "conv1 [Conv]" as one line. */
void trace_put_name(str *out, const pgy_trace_times *t);

#endif

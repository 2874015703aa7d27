/* SPDX-License-Identifier: Apache-2.0 */
/* The slices of a trace while they are summed up. */
#ifndef TRACE_SUMMARY_SUMS_H
#define TRACE_SUMMARY_SUMS_H

#include "trace/summary.h"

/* A slice that counts. */
typedef struct slice {
    int64_t start, end, own; /* own: without the slices inside it */
    size_t layer, op, key;   /* key: that of the grouping that is being made */
    size_t process, parent;
    int64_t stream, run;
    bool has_run;
    uint64_t bytes;
    double flops;
} slice;

/* What the args of a label say. */
typedef struct label_facts {
    const char *op; /* NULL: not read yet; the others are "" or 0 if unknown */
    const char *device, *type;
    int64_t threads;
} label_facts;

/* Gaps between slices of one run and row, by the names around them. */
typedef struct gap_list {
    strmap known; /* process and names -> index + 1 */
    pgy_trace_gap *items;
    size_t *process; /* of each */
    size_t count, capacity, process_capacity;
} gap_list;

typedef struct summer {
    const pgy_trace *t;
    pgy_trace_summary *s;
    const char *category;
    bool with_warm_up;
    label_facts *facts;     /* of each label */
    size_t *process_of_row; /* index of the process; rows of one process share it */
    size_t *tops;           /* of each row: its innermost open slice */
    size_t *lasts;          /* of each row: its last slice that lies in no other one */
    gap_list gaps;
    slice *slices, *runs;
    size_t slice_count, run_count, slice_capacity, run_capacity;
    strmap names, op_names; /* key -> index + 1 */
    pgy_trace_times *layers, *op_times;
    size_t layer_count, op_count, layer_capacity, op_capacity;
    size_t *layer_process, *op_process; /* process of each */
    size_t layer_process_capacity, op_process_capacity, category_capacity;
    pgy_error *err;
} summer;

static inline pgy_status summary_no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a summary");
}

/* Notes the gap in front of a slice that lies in no other one. False: out of memory. */
bool summary_note_gap(summer *m, size_t index, size_t row);
/* Gives the processes their gaps. */
pgy_status summary_share_gaps(summer *m) PGY_MUST_CHECK;

/* Gives the processes their layers, ops, runs, wall and idle time. */
pgy_status summary_sum(summer *m) PGY_MUST_CHECK;

#endif

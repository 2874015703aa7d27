/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines and profiles while they are added to a view. */
#ifndef VIEWER_SOURCES_TRACE_FILE_H
#define VIEWER_SOURCES_TRACE_FILE_H

#include <polygraphy/trace.h>
#include <polygraphy/trace_summary.h>

#include "viewer/sources/result_file.h"

/* What is known about a name of slices. */
typedef struct trace_name {
    const char *text; /* in the arena of the results */
    uint32_t node;
} trace_name;

typedef struct view_trace_run {
    result_file file;
    pgy_trace *trace;
    pgy_trace_summary *summary; /* NULL: it has neither layers nor runs */
    pgy_trace *other;           /* the timeline that was added first; NULL: this is the first */
    pgy_trace_summary *other_summary;
    strmap names; /* of trace_name */
    bool is_second;
} view_trace_run;

/* Finds the node of each layer, by the args of its first slice if they list nodes; sets the
 * categories that the args have: kernel, precision, device. */
pgy_status trace_find_layers(view_trace_run *run, pgy_error *err) PGY_MUST_CHECK;
/* Finds the nodes of layers that have no slices here: those of sums, and of the first timeline. */
pgy_status trace_find_summed(view_trace_run *run, const pgy_trace_summary *s,
                             pgy_error *err) PGY_MUST_CHECK;
/* The node of a layer of either timeline, else VIEW_NONE. */
uint32_t trace_node(const view_trace_run *run, const char *name);
/* Appends slices to the timeline of the view. */
pgy_status trace_add_timeline(view_trace_run *run, pgy_error *err) PGY_MUST_CHECK;
/* Sets times of nodes, the table `layers` and the summary. */
pgy_status trace_add_times(view_trace_run *run, pgy_error *err) PGY_MUST_CHECK;
/* What is said of a pgy_trace_verdict. */
extern const char *const TRACE_CHANGES[];
/* The first process that has layers from place `from` on; NULL: none. */
const pgy_trace_process *trace_process(const pgy_trace_summary *s, size_t *from);

#endif

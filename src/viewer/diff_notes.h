/* SPDX-License-Identifier: Apache-2.0 */
/* What differs at the nodes of a merged graph, before it becomes categories, marks and rows. */
#ifndef VIEWER_DIFF_NOTES_H
#define VIEWER_DIFF_NOTES_H

#include "viewer/diff.h"

/* A difference at a node of the merged graph. */
typedef struct note {
    uint32_t node; /* VIEW_NONE: of no node */
    bool is_first; /* of several nodes that share the difference: has the row */
    bool is_change;
    size_t order;
    const char *name, *op, *change, *what, *before, *after;
} note;

typedef struct report {
    pgy_page *page;
    view_match *m;
    uint32_t *const *nodes;
    note *notes;
    size_t note_count, note_capacity;
    uint32_t merged_count;
    uint32_t *places[2];  /* of each merged node: its node on this side, or VIEW_NONE */
    view_change *changes; /* of each merged node */
    bool failed;
} report;

static inline const view_graph *report_graph(const report *r, int side)
{
    return r->m->side[side].graph;
}
const char *report_keep(report *r, str *text); /* copies a text and frees it */
/* Name of a node, or the operator of one without a name. */
const char *report_label(const view_graph *g, uint32_t node);

/* Adds a note for each difference, and for each node that only one side has. */
pgy_status report_take_notes(report *r, pgy_error *err) PGY_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the tensors inside the bodies of If, Loop, Scan and SequenceMap: each body becomes a
 * model of its own, and each of its runs a sample. */
#ifndef WHERE_INSIDE_H
#define WHERE_INSIDE_H

#include <polygraphy/cut.h>

#include "where/noise_walk.h"
#include "where/where.h"

/* ---- inside_record.c ------------------------------------------------------------------------- */

/* One run of a body. */
typedef struct body_run {
    size_t sample;
    uint64_t iteration;
} body_run;

/* A body of a node in the main graph, and what it read in each run. */
typedef struct body {
    const pgy_node *node; /* on side A, in the graph that is recorded */
    const pgy_graph *graph;
    size_t subgraph;          /* place in node->subgraphs */
    const pgy_node *other;    /* the node on side B */
    size_t row;               /* of the node's first tensor */
    pgy_cut *cut_a, *cut_b;   /* may be equal */
    const char *const *names; /* tensors that the body reads */
    size_t name_count;
    pgy_tensor_map **feeds;
    body_run *runs;
    size_t count, capacity;
    bool full;               /* not all runs were kept */
    const char *why;         /* why the body cannot be compared; NULL: it can */
    struct last_value *last; /* one for each name */
} body;

typedef struct body_list {
    body *items;
    size_t count;
    uint64_t max_bytes;
} body_list;

/* Runs the model by the reference, and keeps what each body reads. */
pgy_status bodies_record(body_list *list, noise_walk *walk, pgy_tensor_map *const *feeds,
                         size_t count, pgy_error *err) PGY_MUST_CHECK;
void body_deinit(body *b);

/* ---- inside.c -------------------------------------------------------------------------------- */

typedef pgy_status where_compare(pgy_where_report **out, const pgy_where_side *a,
                                 const pgy_where_side *b, const pgy_where_options *options,
                                 pgy_error *err);

/* The search whose nodes with bodies are looked into. */
typedef struct inside_search {
    pgy_where_report *report; /* its rows still point into the graphs */
    const pgy_where_side *a, *b;
    const pgy_where_options *options;
    pgy_tensor_map *const *feeds;
    size_t feed_count;
    uint64_t budget;
    where_compare *compare; /* compares two models: pgy_where */
} inside_search;

/* Puts a row for each tensor of the bodies before the rows of their nodes. A body that cannot be
 * compared leaves a note there. */
pgy_status where_inside(const inside_search *s, pgy_error *err) PGY_MUST_CHECK;

#endif

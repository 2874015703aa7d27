/* SPDX-License-Identifier: Apache-2.0 */
/* Walks both sides segment by segment: a segment's tensors are read from both sides, compared and
 * dropped. */
#ifndef WHERE_WALK_H
#define WHERE_WALK_H

#include "where/cuts.h"
#include "where/lane.h"

typedef struct where_search {
    pgy_where_options options;
    const where_judge *judge;
    where_floors floors; /* empty if the rule needs none */
    where_lane a, b;
    pgy_model *model;   /* whose nodes run alone; NULL: side B is a plan */
    pgy_graph *graph_a; /* NULL: names are equal on both sides */
    pgy_graph *graph_b;
    pgy_tensor_map **feeds;
    size_t feed_count;
    uint64_t budget;
    where_cuts cuts;
    where_cuts sure;   /* the same without guesses of sizes that are unknown */
    size_t node;       /* of side B, where the next segment begins */
    size_t done;       /* rows that were in a segment */
    bool *differs;     /* [sample][node of side B]: a tensor that it gives differs by a bit */
    uint32_t *hidden;  /* of a node of side B: nodes before it whose tensors were not compared */
    bool alone_failed; /* the nodes could not run alone; the reason was logged */
    pgy_where_report *report;
} where_search;

static inline bool *where_differs(const where_search *s, size_t sample)
{
    return s->differs + sample * s->graph_b->node_count;
}
/* judge_floors.c: computes the floors over all samples, if the rule needs them. model: whose
 * floors; NULL: there is none */
pgy_status where_floors_prepare(where_search *s, pgy_model *model, pgy_error *err) PGY_MUST_CHECK;

/* After matching: opens whole sources and finds the places of cuts. */
pgy_status where_walk_start(where_search *s, pgy_error *err) PGY_MUST_CHECK;
/* Runs the next segment. *any false: no tensor is left. */
pgy_status where_walk_next(bool *any, where_search *s, pgy_error *err) PGY_MUST_CHECK;
void where_walk_deinit(where_search *s);

#endif

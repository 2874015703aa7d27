/* SPDX-License-Identifier: Apache-2.0 */
/* What can be decided before data: the order of nodes and how often each value is needed, for every
 * level of a graph. */
#ifndef EVALUATE_PLAN_H
#define EVALUATE_PLAN_H

#include "graph/graph.h"

typedef struct level_plan {
    pgy_graph *graph;
    pgy_node **order;
    size_t slot_count;
    uint32_t *uses;     /* per slot: how many node inputs, captures and graph outputs need it */
    bool *narrow;       /* per slot: a weight that all its users take as float32 */
    size_t widest_node; /* most inputs or outputs of a node */
} level_plan;

/* Plans g, its subgraphs and the functions it calls. Operators that cannot be run are all listed in
 * one PGY_E_UNSUPPORTED. */
pgy_status plan_build(pgy_graph *g, arena *memory, pgy_error *err) PGY_MUST_CHECK;

/* The same refusals, without a plan. */
pgy_status plan_check(pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;

/* Plans what node n runs: its subgraphs and functions. */
pgy_status plan_build_node(pgy_node *n, arena *memory, pgy_error *err) PGY_MUST_CHECK;
/* Forgets all plans of a graph whose memory is about to go. */
void plan_clear(graph_state *s);

static inline const level_plan *plan_of(const pgy_graph *g)
{
    return level_of(g)->plan;
}

#endif

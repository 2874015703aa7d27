/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions that need no data: the order of nodes and the number of uses of each value, for every
 * level of a graph. */
#ifndef EVALUATE_PLAN_H
#define EVALUATE_PLAN_H

#include "graph/graph.h"
#include "graph/side_table.h"

typedef struct level_plan {
    pgy_graph *graph;
    pgy_node **order;
    size_t slot_count;
    uint32_t *uses; /* indexed by slot: number of node inputs, subgraph captures and graph outputs
                       that read the value */
    bool *narrow;   /* indexed by slot: true for a weight that all its consumers read as float32, so
                       it is not widened */
    size_t widest_node; /* largest number of inputs or of outputs of one node */
} level_plan;

SIDE_TABLE(slot_table, uint32_t)
SIDE_TABLE(level_plans, level_plan *)

/* The plans of a graph, its subgraphs and the functions that it calls; zeroed: nothing is planned.
 * A plan stores nothing in the graph, so several plans of one graph may be used at once; the graph
 * must not change meanwhile. */
typedef struct graph_plan {
    arena memory;
    slot_table slots;   /* indexed by value id: the value's slot in the frames of its level */
    level_plans levels; /* indexed by level id: the level's plan; NULL: not planned */
} graph_plan;

void graph_plan_deinit(graph_plan *p);

/* Plans g, its subgraphs and the functions that it calls. PGY_E_UNSUPPORTED lists all operators
 * that cannot run. */
pgy_status plan_build(graph_plan *p, pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;

/* Fails like plan_build, but makes no plan. */
pgy_status plan_check(pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;

/* Plans the subgraphs and functions of node n. */
pgy_status plan_build_node(graph_plan *p, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;

static inline const level_plan *plan_of(const graph_plan *p, const pgy_graph *g)
{
    return level_plans_get(&p->levels, level_id(g));
}
static inline uint32_t plan_slot(const graph_plan *p, const pgy_value *v)
{
    return slot_table_get(&p->slots, value_id(v));
}

#endif

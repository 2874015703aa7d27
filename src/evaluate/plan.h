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
    uint32_t *uses;     /* per slot: how many node inputs, captures and graph outputs need it */
    bool *narrow;       /* per slot: a weight that all its users read as float32 */
    size_t widest_node; /* most inputs or outputs of a node */
} level_plan;

SIDE_TABLE(slot_table, uint32_t)
SIDE_TABLE(level_plans, level_plan *)

/* The plans of a graph, its subgraphs and the functions that it calls; zeroed: nothing is planned.
 * A plan stores nothing in the graph, so several plans of one graph may be used at once; the graph
 * must not change meanwhile. */
typedef struct graph_plan {
    arena memory;
    slot_table slots;   /* of values: their place in the frames of their level */
    level_plans levels; /* of levels; NULL: not planned */
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

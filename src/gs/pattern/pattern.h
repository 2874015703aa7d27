/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns as declared (pattern.c), and as matched: flattened into one list of nodes, with the
 * order of the search (plan.c, match.c). */
#ifndef GS_PATTERN_PATTERN_H
#define GS_PATTERN_PATTERN_H

#include "base/arena.h"
#include "gs/graph/gs.h"

typedef enum pattern_kind { PATTERN_VARIABLE, PATTERN_CONSTANT, PATTERN_MADE } pattern_kind;

typedef struct pattern_slot {
    pattern_kind kind;
    const char *name; /* of a constant */
} pattern_slot;

typedef struct pattern_node {
    pgy_gs_pattern_node spec; /* texts and inputs are in the pattern's memory */
    size_t output;            /* the first of its output slots, which are consecutive */
    size_t output_count;
} pattern_node;

struct pgy_gs_pattern {
    arena memory;
    pattern_slot *slots;
    size_t slot_count, slot_capacity;
    pattern_node *nodes;
    size_t node_count, node_capacity;
    size_t *outputs; /* declared */
    size_t output_count;
};

size_t pattern_count(const pgy_gs_pattern *p, pattern_kind kind);

/* ---- Unfolded -------------------------------------------------------------------------------- */

typedef struct plan_slot {
    pattern_kind kind;
    bool inner; /* made in the pattern and not a declared output */
} plan_slot;

typedef struct plan_node {
    const pattern_node *node;
    size_t *inputs, *outputs; /* places in plan.slots */
} plan_node;

/* How a node is found: as producer or consumer of a tensor that an earlier step bound. */
typedef struct plan_step {
    size_t node, slot,
        position; /* position: the index of the slot among the node's inputs (outputs) */
    bool is_producer;
} plan_step;

/* One instance of a pattern: the top pattern or a nested one. */
typedef struct plan_instance {
    const pgy_gs_pattern *pattern;
    size_t *slots;                   /* by slot of the pattern, the place in plan.slots */
    size_t *nodes;                   /* by node of the pattern, the place in plan.nodes */
    struct plan_instance **children; /* by node of the pattern; NULL for an operator */
} plan_instance;

typedef struct plan {
    arena memory;
    plan_slot *slots;
    size_t slot_count, slot_capacity;
    plan_node *nodes;
    size_t node_count, node_capacity;
    plan_step *steps;   /* node_count steps; the first one tries every node of the graph */
    size_t input_count; /* of all nodes together */
    plan_instance *top;
    size_t instance_count;
} plan;

pgy_status plan_init(plan *out, const pgy_gs_pattern *p, pgy_error *err) PGY_MUST_CHECK;
void plan_deinit(plan *p);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns in two forms: as the caller declared them (pattern.c), and as a plan for the search,
 * with nested patterns flattened into one list of nodes (plan.c, match.c). */
#ifndef GS_PATTERN_PATTERN_H
#define GS_PATTERN_PATTERN_H

#include "base/arena.h"
#include "gs/graph/gs.h"

typedef enum pattern_kind { PATTERN_VARIABLE, PATTERN_CONSTANT, PATTERN_MADE } pattern_kind;

typedef struct pattern_slot {
    pattern_kind kind;
    const char *name; /* name of a constant */
} pattern_slot;

typedef struct pattern_node {
    pgy_gs_pattern_node spec; /* its strings and inputs are in the pattern's memory */
    size_t output; /* index of its first output in the pattern's slots; the others follow */
    size_t output_count;
} pattern_node;

struct pgy_gs_pattern {
    arena memory;
    pattern_slot *slots;
    size_t slot_count, slot_capacity;
    pattern_node *nodes;
    size_t node_count, node_capacity;
    size_t *outputs; /* slots that the caller declared as outputs */
    size_t output_count;
};

size_t pattern_count(const pgy_gs_pattern *p, pattern_kind kind);

/* ---- Flattened patterns ---------------------------------------------------------------------- */

typedef struct plan_slot {
    pattern_kind kind;
    bool inner; /* a node of the pattern makes it, and it is not a declared output */
} plan_slot;

typedef struct plan_node {
    const pattern_node *node;
    size_t *inputs, *outputs; /* indices in plan.slots */
} plan_node;

/* How the search finds a node: as producer or consumer of a tensor that an earlier step matched. */
typedef struct plan_step {
    size_t node, slot,
        position; /* position: index of `slot` among the node's inputs, or outputs if is_producer */
    bool is_producer;
} plan_step;

/* One instance of a pattern: the top pattern or a nested one. */
typedef struct plan_instance {
    const pgy_gs_pattern *pattern;
    size_t *slots;                   /* indexed by slot of the pattern: the index in plan.slots */
    size_t *nodes;                   /* indexed by node of the pattern: the index in plan.nodes */
    struct plan_instance **children; /* indexed by pattern node: nested instance; NULL: operator */
} plan_instance;

typedef struct plan {
    arena memory;
    plan_slot *slots;
    size_t slot_count, slot_capacity;
    plan_node *nodes;
    size_t node_count, node_capacity;
    plan_step *steps;   /* node_count steps; the first one tries every node of the graph */
    size_t input_count; /* total number of inputs of all nodes */
    plan_instance *top;
    size_t instance_count;
} plan;

pgy_status plan_init(plan *out, const pgy_gs_pattern *p, pgy_error *err) PGY_MUST_CHECK;
void plan_deinit(plan *p);

#endif

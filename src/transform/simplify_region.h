/* SPDX-License-Identifier: Apache-2.0 */
/* A region: the nodes between the output of a rewrite and the values that both graphs share. */
#ifndef TRANSFORM_SIMPLIFY_REGION_H
#define TRANSFORM_SIMPLIFY_REGION_H

#include "transform/simplify.h"

/* A value that some region reads and both graphs compute, with its elements in the current run. */
typedef struct source {
    pgy_value *value; /* belongs to the rewritten graph */
    op_tensor held;
    size_t users, pending; /* number of regions that read it; how many of these are not yet measured
                              in this run */
} source;

typedef struct node_list {
    pgy_node **items;
    size_t count, capacity;
} node_list;

typedef struct region {
    simplify_rewrite *rewrite;
    pgy_value *before, *after; /* the output, in the original and the rewritten graph */
    /* Nodes that compute `before` and `after`, in an order in which they can run. */
    node_list old_nodes, new_nodes;
    size_t *sources; /* indices into simplify_regions.sources */
    size_t source_count, source_capacity;
    bool tried_edges;
    bool done; /* measured in the current run */
} region;

struct simplify_regions {
    pgy_graph *before, *after;
    arena memory;
    graph_plan plan; /* execution plan of the rewritten graph */
    region *regions;
    size_t count;
    source *sources;
    id_places places; /* for each value of the rewritten graph: its index in `sources` plus 1 */
    size_t source_count, source_capacity;
    execute_limits limits;
};

/* The value of the same name in graph `other`, or NULL if that graph does not compute it. */
pgy_value *region_twin(const pgy_value *v, const pgy_graph *other);
static inline bool region_is_weight(const pgy_value *v)
{
    return v->initializer || v->sparse || (v->producer && node_constant(v->producer));
}
void region_fail(simplify_rewrite *w, arena *memory, double error, const char *reason);
/* Computes the region's output from its sources with the original nodes, and compares it with
 * `after`, the output of the new nodes. */
pgy_status region_measure(simplify_regions *r, region *of, const op_tensor *after,
                          pgy_error *err) PGY_MUST_CHECK;

#endif

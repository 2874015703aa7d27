/* SPDX-License-Identifier: Apache-2.0 */
/* A region: the nodes between the output of a rewrite and the values that both graphs share. */
#ifndef TRANSFORM_SIMPLIFY_REGION_H
#define TRANSFORM_SIMPLIFY_REGION_H

#include "transform/simplify.h"

/* A value from which regions start, with its content in the run. */
typedef struct source {
    pgy_value *value; /* of the graph after */
    op_tensor held;
    size_t users, pending; /* regions that need it; those not measured yet in this run */
} source;

typedef struct node_list {
    pgy_node **items;
    size_t count, capacity;
} node_list;

typedef struct region {
    simplify_rewrite *rewrite;
    pgy_value *before, *after;      /* the output in both graphs */
    node_list old_nodes, new_nodes; /* in an order in which they can run */
    size_t *sources;                /* into simplify_regions.sources */
    size_t source_count, source_capacity;
    bool tried_edges;
    bool done; /* in this run */
} region;

struct simplify_regions {
    pgy_graph *before, *after;
    arena memory;
    graph_plan plan; /* of the graph after */
    region *regions;
    size_t count;
    source *sources;
    id_places places; /* of the values of the graph after: one more than that in `sources` */
    size_t source_count, source_capacity;
    execute_limits limits;
};

/* The same value in the other graph, or NULL if that graph does not compute it. */
pgy_value *region_twin(const pgy_value *v, const pgy_graph *other);
static inline bool region_is_weight(const pgy_value *v)
{
    return v->initializer || v->sparse || (v->producer && node_constant(v->producer));
}
void region_fail(simplify_rewrite *w, arena *memory, double error, const char *reason);
/* Computes the output from the sources with the old nodes, and compares it with `after`. */
pgy_status region_measure(simplify_regions *r, region *of, const op_tensor *after,
                          pgy_error *err) PGY_MUST_CHECK;

#endif

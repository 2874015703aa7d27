/* SPDX-License-Identifier: Apache-2.0 */
/* The network simplex method: whole numbers for nodes, so that the head of each edge is at least
 * `length` above its tail and the sum of weight times distance is the least. */
#ifndef VIEWER_LAYOUT_SIMPLEX_H
#define VIEWER_LAYOUT_SIMPLEX_H

#include "viewer/layout/layers.h"

typedef struct simplex_edge {
    uint32_t tail, head;
    int32_t length, weight;
} simplex_edge;

typedef struct simplex {
    layers *l; /* whose memory and deadline it uses */
    simplex_edge *edges;
    uint32_t node_count, edge_count;
    int32_t *places;       /* of each node; a start that keeps all lengths, and the result */
    uint32_t *parent_edge; /* a spanning tree of edges without slack: the one towards node 0 */
    uint64_t work_limit;   /* steps; the places are valid but not the best if it or the deadline is
                              reached */
    bool is_best;
} simplex;

pgy_status simplex_run(simplex *s, pgy_error *err) PGY_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes the candidates of `debug reduce` had. A replay has only verdicts and numbers of
 * nodes, so the search is walked again; a step whose number of nodes is another one has no nodes.
 */
#ifndef VIEWER_SOURCES_SEARCH_NODES_H
#define VIEWER_SOURCES_SEARCH_NODES_H

#include "debug/bisect.h"
#include "viewer/sources/main_nodes.h"

/* Nodes of the view's graph, a flag for each. */
typedef struct node_set {
    bool *has;
    size_t count;
} node_set;

/* One phase of the search: it cuts `whole` at one of its nodes after the other. */
typedef struct reduce_walk {
    const view_graph *graph;
    uint32_t *nodes; /* of the whole, in the order of the model */
    size_t node_count;
    bool cuts_outputs; /* else inputs */
    bisection order;
    bool *in_whole, *in_candidate, *is_read, *is_border; /* of nodes, nodes, tensors, tensors */
    uint32_t *stack;
    arena memory;
} reduce_walk;

/* @param of  the nodes that the phase begins with */
pgy_status reduce_walk_start(reduce_walk *w, const view_graph *g, const main_nodes *main,
                             const node_set *of, bool cuts_outputs, bool linear,
                             pgy_error *err) PGY_MUST_CHECK;
void reduce_walk_deinit(reduce_walk *w);
/* The nodes of the candidate at the current place. They stand until the next call. */
pgy_status reduce_walk_candidate(node_set *out, reduce_walk *w, pgy_error *err) PGY_MUST_CHECK;

#endif

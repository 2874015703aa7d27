/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of merging two graphs: the order of the items. */
#ifndef VIEWER_MERGE_H
#define VIEWER_MERGE_H

#include "viewer/diff.h"
#include "viewer/graph_collect.h"

/* Items are numbered: nodes of A, containers of A, nodes of B, containers of B. */
typedef struct item {
    uint32_t parent, next, first, last; /* of the list of the parent; VIEW_NONE: none */
} item;

typedef struct merger {
    const view_match *m;
    graph_parts b;
    item *items;
    uint32_t starts[2][2];  /* first item: [side][0: nodes, 1: containers] */
    uint32_t *container[2]; /* of each container its item */
    bool *is_framed[2];     /* of each node: it is drawn as a container around its parts */
    uint32_t *tensor[2];    /* of each tensor: the merged one */
    uint32_t *stamp;        /* of each merged tensor: the last node that lists it */
    uint32_t stamps;
    uint32_t **nodes;
} merger;

static inline const view_graph *merger_graph(const merger *g, int side)
{
    return g->m->side[side].graph;
}

/* Lists what lies in each container, in order, and decides which nodes become frames. */
void merge_order(merger *g);
bool merge_is_root(const view_graph *g, uint32_t container);

#endif

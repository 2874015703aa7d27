/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of model-local functions, replaced by what the functions do. */
#ifndef GRAPH_INLINE_H
#define GRAPH_INLINE_H

#include "graph/graph.h"

/* Which calls; zeroed: all whose function has the opset versions of the graph. */
typedef struct inline_choice {
    bool (*wanted)(const pgy_node *call, void *user); /* NULL: all */
    void *user;
    bool any_opset; /* other versions too, each node keeping its own: such a graph may be looked at,
                       but not exported */
} inline_choice;

/* In all levels, calls in bodies included; *calls: how many there were. What stays is called with
 * other opset versions, has graphs among its attributes, or comes after a million nodes. Functions
 * go when nothing is called any more. Shapes are to be inferred anew; the order is as it was. */
pgy_status graph_inline_calls(pgy_graph *g, const inline_choice *choice, size_t *calls,
                              pgy_error *err) PGY_MUST_CHECK;

#endif

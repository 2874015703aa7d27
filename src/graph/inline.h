/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces calls of model-local functions by the nodes of the functions. */
#ifndef GRAPH_INLINE_H
#define GRAPH_INLINE_H

#include "graph/graph.h"

/* Selects the calls to inline. Zeroed: all calls whose function imports the same opset versions as
 * the graph. */
typedef struct inline_choice {
    bool (*wanted)(const pgy_node *call, void *user); /* NULL: all */
    void *user;
    bool any_opset; /* also inline functions with other opset versions; their nodes keep these, so
                       the graph can be read but not exported */
    bool paths;     /* inner values are named "<call>/<value>" */
} inline_choice;

/* Inlines in all levels, including calls in function bodies; *calls is the number of inlined calls.
 * A call stays if its function has other opset versions (unless any_opset), if it has graphs among
 * its attributes, or once a million nodes were copied. If no call is left, the functions are
 * removed. The caller must infer shapes again. The order of nodes is kept. */
pgy_status graph_inline_calls(pgy_graph *g, const inline_choice *choice, size_t *calls,
                              pgy_error *err) PGY_MUST_CHECK;

#endif

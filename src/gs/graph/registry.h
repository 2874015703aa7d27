/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that a caller registered with a graph (registry.c), and nodes that call local
 * functions (function.c). */
#ifndef GS_GRAPH_REGISTRY_H
#define GS_GRAPH_REGISTRY_H

#include "gs/graph/gs.h"

pgy_status gs_registry_copy(gs_document *to, const gs_document *from,
                            pgy_error *err) PGY_MUST_CHECK;
/* Adds a node to g that calls f; operands are as in pgy_gs_layer. @param name of the node; NULL:
 * generated */
pgy_status gs_call_function(pgy_gs_node **out, pgy_gs_graph *g, pgy_gs_graph *f,
                            const pgy_gs_call *call, const char *name,
                            pgy_error *err) PGY_MUST_CHECK;

#endif

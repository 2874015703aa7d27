/* SPDX-License-Identifier: Apache-2.0 */
/* Values of attributes as messages, and what graphs they hold. */
#ifndef GS_GRAPH_ATTRIBUTE_H
#define GS_GRAPH_ATTRIBUTE_H

#include "gs/graph/gs.h"

/* A new message in the store. For an attribute of type graph the message leaves the graph out. */
pgy_status gs_attribute_make(const pgy_onnx_attribute **out, gs_document *d, const pgy_gs_attr *a,
                             pgy_error *err) PGY_MUST_CHECK;
/* Is g one of the subgraphs of n, or inside one? */
bool gs_node_contains(const pgy_gs_node *n, const pgy_gs_graph *g);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of nodes: makes their messages (AttributeProto) and finds the subgraphs in them. */
#ifndef GS_GRAPH_ATTRIBUTE_H
#define GS_GRAPH_ATTRIBUTE_H

#include "gs/graph/gs.h"

/* Makes an AttributeProto in the document's memory. A graph is left out, because node attributes
 * hold graphs separately. */
pgy_status gs_attribute_make(const pgy_onnx_attribute **out, gs_document *d, const pgy_gs_attr *a,
                             pgy_error *err) PGY_MUST_CHECK;
/* True if g is a subgraph of n or nested in one. */
bool gs_node_contains(const pgy_gs_node *n, const pgy_gs_graph *g);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Brings all models to the newest opset. Each node remembers its original, for reports. */
#ifndef TRANSFORM_NORMALISE_H
#define TRANSFORM_NORMALISE_H

#include "graph/graph.h"

/* Converts to opset 28. PGY_E_UNSUPPORTED names a node that the newest opset cannot express; the
 * graph is then as it was. */
pgy_status graph_normalise(pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;
/* Name, operator and opset of the node that n was or was made from; NULL: never converted. */
const node_origin *node_origin_of(const pgy_node *n);

#endif

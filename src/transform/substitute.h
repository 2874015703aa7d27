/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces nodes that no runtime here can run by outputs recorded elsewhere. */
#ifndef TRANSFORM_SUBSTITUTE_H
#define TRANSFORM_SUBSTITUTE_H

#include "graph/graph.h"

/* Removes the top-level nodes of unknown operators whose used outputs are all among `recorded`;
 * these outputs become further inputs of the graph, behind its own. *count is the number of removed
 * nodes. */
pgy_status graph_substitute(size_t *count, pgy_graph *g, const pgy_tensor_map *recorded,
                            pgy_error *err) PGY_MUST_CHECK;

#endif

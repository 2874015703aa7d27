/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that nobody can run, replaced by what they gave somewhere else. */
#ifndef TRANSFORM_SUBSTITUTE_H
#define TRANSFORM_SUBSTITUTE_H

#include "graph/graph.h"

/* Removes the top-level nodes of unknown operators whose used outputs are all among `recorded`;
 * these outputs become further inputs of the graph, behind its own. *count is how many nodes went.
 */
pgy_status graph_substitute(size_t *count, pgy_graph *g, const pgy_tensor_map *recorded,
                            pgy_error *err) PGY_MUST_CHECK;

#endif

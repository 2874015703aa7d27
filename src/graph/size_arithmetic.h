/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic that computes sizes, indices and counts, such as ceil(length / 320) in front of a
 * Reshape. It must stay in float32: float16 has 11 bits, so sizes above 2048 would be rounded. */
#ifndef GRAPH_SIZE_ARITHMETIC_H
#define GRAPH_SIZE_ARITHMETIC_H

#include "graph/graph.h"
#include "graph/side_table.h"

/* Marks the scalars and vectors, in g and all its subgraphs, from which tensor sizes are computed.
 * Shapes must have been inferred. */
pgy_status graph_size_arithmetic_mark(id_marks *values, pgy_graph *g,
                                      pgy_error *err) PGY_MUST_CHECK;

#endif

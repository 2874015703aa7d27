/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for tests of graphs: imports small models, and checks nodes and constants. */
#ifndef HARNESS_GRAPH_CASE_H
#define HARNESS_GRAPH_CASE_H

#include <polygraphy/graph.h>

#include "harness/model_builder.h"

/* Finishes the model and imports its graph. Fails the test if it is not valid. */
pgy_graph *import_graph(model_builder *b);
/* Checks the operators of the graph's nodes in order, "Conv Relu". */
void expect_nodes(const pgy_graph *g, const char *wanted);
/* Checks that input i of node n is a constant with these bytes. */
void expect_input(const pgy_graph *g, size_t n, size_t i, size_t size, const void *wanted);

#endif

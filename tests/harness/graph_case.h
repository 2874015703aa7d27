/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of small models. */
#ifndef HARNESS_GRAPH_CASE_H
#define HARNESS_GRAPH_CASE_H

#include <polygraphy/graph.h>

#include "harness/model_builder.h"

/* Ends the model, which must be importable. */
pgy_graph *import_graph(model_builder *b);
/* The operators in order, "Conv Relu". */
void expect_nodes(const pgy_graph *g, const char *wanted);
/* Input i of node n is a constant of these bytes. */
void expect_input(const pgy_graph *g, size_t n, size_t i, size_t size, const void *wanted);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The local functions of a model: which nodes call them, and how many nodes the calls stand for. */
#ifndef VIEWER_GRAPH_FUNCTION_H
#define VIEWER_GRAPH_FUNCTION_H

#include "viewer/graph.h"

typedef struct graph_functions {
    const pgy_onnx_model *model;
    strmap places; /* "domain:name:overload" -> index + 1 */
    bool copies;   /* calls are drawn with a copy of the body */
    bool explode;  /* calls stand for so many nodes that nothing can visit them all */
} graph_functions;

/* False: out of memory. */
bool graph_functions_start(graph_functions *f, const pgy_onnx_model *model);
void graph_functions_deinit(graph_functions *f);
/* The function that a node calls; NULL: it is an operator. */
const pgy_onnx_function *graph_function_of(graph_functions *f, const pgy_onnx_node *n);

#endif

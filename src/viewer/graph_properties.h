/* SPDX-License-Identifier: Apache-2.0 */
/* What the page says about a model as a whole. */
#ifndef VIEWER_GRAPH_PROPERTIES_H
#define VIEWER_GRAPH_PROPERTIES_H

#include "viewer/graph_collect.h"

/* Versions, producer, metadata. */
void graph_add_properties(graph_parts *b, const pgy_onnx_model *m);
/* Number and bytes of the weights that were collected. */
void graph_add_parameters(graph_parts *b);

#endif

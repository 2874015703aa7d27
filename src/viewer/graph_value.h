/* SPDX-License-Identifier: Apache-2.0 */
/* Values of stored tensors as text. Only tensors inside the file are read. */
#ifndef VIEWER_GRAPH_VALUE_H
#define VIEWER_GRAPH_VALUE_H

#include "viewer/graph.h"

/* Appends a single element, or "[1 2 3]" in the order of memory. Nothing if the tensor is outside
 * the file, damaged, or has no element or more than `limit`. False: out of memory. */
bool graph_append_values(str *s, pgy_model *model, const pgy_onnx_tensor *t, int64_t limit);

#endif

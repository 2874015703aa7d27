/* SPDX-License-Identifier: Apache-2.0 */
/* Adds what shape inference knows: types and shapes of tensors, contradictions with the file, and
 * floating-point operations of nodes. */
#ifndef VIEWER_GRAPH_INFER_H
#define VIEWER_GRAPH_INFER_H

#include "viewer/graph_collect.h"

/* Works on a graph of its own. What cannot be imported or inferred stays as the file declares it,
 * with a warning. */
void graph_infer(graph_parts *b, pgy_model *model);

#endif

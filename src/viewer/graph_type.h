/* SPDX-License-Identifier: Apache-2.0 */
/* Types and shapes as texts: "float32", "sequence(int64)"; "1x64x56x56", with "?" or a name for an
 * unknown size. */
#ifndef VIEWER_GRAPH_TYPE_H
#define VIEWER_GRAPH_TYPE_H

#include "viewer/graph_collect.h"

/* Sets dtype, shape and bytes of a tensor as a file declares them; `type` may be NULL. */
void graph_type_declare(graph_parts *b, view_tensor *t, const pgy_onnx_type *type);
/* The same of a stored weight or constant, and its value if it is a scalar. */
void graph_type_weight(graph_parts *b, view_tensor *t, const pgy_onnx_tensor *stored);
void graph_type_sparse(graph_parts *b, view_tensor *t, const pgy_onnx_sparse_tensor *stored);
/* The same of what a Constant holds. */
void graph_type_constant(graph_parts *b, view_tensor *t, const pgy_onnx_node *n);
const char *graph_shape_text(graph_parts *b, const int64_t *dims, size_t count);
/* 0: unknown. dims below 0 are unknown sizes. */
uint64_t graph_type_bytes(pgy_dtype dtype, const int64_t *dims, size_t count);

#endif

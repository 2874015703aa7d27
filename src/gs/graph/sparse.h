/* SPDX-License-Identifier: Apache-2.0 */
/* Converts sparse initializers to dense tensors. */
#ifndef GS_GRAPH_SPARSE_H
#define GS_GRAPH_SPARSE_H

#include <polygraphy/onnx.h>

pgy_status gs_sparse_load(pgy_tensor **out, pgy_model *m, const pgy_onnx_sparse_tensor *sparse,
                          pgy_error *err) PGY_MUST_CHECK;

#endif

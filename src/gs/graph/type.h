/* SPDX-License-Identifier: Apache-2.0 */
/* What tensors declare: to and from the messages of a file. */
#ifndef GS_GRAPH_TYPE_H
#define GS_GRAPH_TYPE_H

#include "gs/graph/gs.h"

/* Fills in what t lacks from a declaration. */
pgy_status gs_type_fill(pgy_gs_tensor *t, const pgy_onnx_value_info *info,
                        pgy_error *err) PGY_MUST_CHECK;
/* True if the declaration says exactly what is known of t. */
bool gs_type_agrees(const pgy_gs_tensor *t, const pgy_onnx_value_info *info);
/* Type and shape of a stored weight. */
pgy_status gs_type_of_stored(pgy_gs_tensor *t, pgy_error *err) PGY_MUST_CHECK;
/* A type message for t, with the denotations of `from` (may be NULL). NULL: out of memory. */
pgy_onnx_type *gs_type_make(pgy_model *to, const pgy_gs_tensor *t, const pgy_onnx_type *from);
/* A sequence or optional of `inner`. NULL: out of memory. */
pgy_onnx_type *gs_type_wrap(pgy_model *to, pgy_value_kind kind, pgy_onnx_type *inner);

#endif

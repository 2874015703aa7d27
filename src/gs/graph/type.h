/* SPDX-License-Identifier: Apache-2.0 */
/* Converts tensor types and shapes to and from ONNX messages (ValueInfoProto, TypeProto). */
#ifndef GS_GRAPH_TYPE_H
#define GS_GRAPH_TYPE_H

#include "gs/graph/gs.h"

/* Sets the type and shape of t from a declaration, where t has none yet. */
pgy_status gs_type_fill(pgy_gs_tensor *t, const pgy_onnx_value_info *info,
                        pgy_error *err) PGY_MUST_CHECK;
/* True if the declaration has exactly the type and shape of t. */
bool gs_type_agrees(const pgy_gs_tensor *t, const pgy_onnx_value_info *info);
/* Sets the type and shape of t from its initializer. */
pgy_status gs_type_of_stored(pgy_gs_tensor *t, pgy_error *err) PGY_MUST_CHECK;
/* Makes a TypeProto for t, with the denotations of `from` (may be NULL). NULL: out of memory. */
pgy_onnx_type *gs_type_make(pgy_model *to, const pgy_gs_tensor *t, const pgy_onnx_type *from);
/* Makes the type "sequence (or optional) of `inner`". NULL: out of memory. */
pgy_onnx_type *gs_type_wrap(pgy_model *to, pgy_value_kind kind, pgy_onnx_type *inner);

#endif

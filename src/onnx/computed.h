/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that are made when they are wanted (pgy_model_computed_tensor). */
#ifndef ONNX_COMPUTED_H
#define ONNX_COMPUTED_H

#include "onnx/model.h"

/* If these are the raw bytes of such a tensor of m or of a model that it keeps: its elements, for
 * the caller to release; else NULL. */
pgy_status computed_tensor_make(pgy_tensor **out, pgy_model *m, pgy_bytes bytes,
                                pgy_error *err) PGY_MUST_CHECK;
void computed_tensors_deinit(pgy_model *m);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Weights kept in files beside the model. */
#ifndef ONNX_EXTERNAL_H
#define ONNX_EXTERNAL_H

#include "onnx/model.h"

/* Does it name a file, by its data_location? */
bool tensor_is_external(const pgy_onnx_tensor *t);
/* The model, m or one that it keeps, in whose folder the tensor's file is. */
pgy_model *external_owner(pgy_model *m, const pgy_onnx_tensor *t);
/* The tensor's bytes, mapped; `wanted` is what its shape needs. Files are opened once and stay open
 * with the model.
 * @return PGY_E_FORMAT, PGY_E_NOT_FOUND, PGY_E_IO naming the file; the caller names the tensor */
pgy_status external_bytes(pgy_bytes *out, pgy_model *m, const pgy_onnx_tensor *t, size_t wanted,
                          pgy_error *err) PGY_MUST_CHECK;
/* Maps every file that m and those it keeps refer to, where that can be done: they are about to be
 * replaced. */
void external_open_all(pgy_model *m);

#endif

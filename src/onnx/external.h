/* SPDX-License-Identifier: Apache-2.0 */
/* Weights kept in files beside the model. */
#ifndef ONNX_EXTERNAL_H
#define ONNX_EXTERNAL_H

#include "onnx/model.h"

/* True if the tensor's data_location says that its data is in a file. */
bool tensor_is_external(const pgy_onnx_tensor *t);
/* The model whose folder contains the tensor's data file: m or a model that m keeps
 * (pgy_model_keep). */
pgy_model *external_owner(pgy_model *m, const pgy_onnx_tensor *t);
/* Maps the tensor's bytes; `wanted` is the size that its shape needs. Files are opened once and
 * stay open with the model.
 * @return PGY_E_FORMAT, PGY_E_NOT_FOUND, PGY_E_IO naming the file; the caller names the tensor */
pgy_status external_bytes(pgy_bytes *out, pgy_model *m, const pgy_onnx_tensor *t, size_t wanted,
                          pgy_error *err) PGY_MUST_CHECK;
/* Maps every file that m and the models it keeps refer to, because saving may replace these files.
 * Files that cannot be mapped are skipped. */
void external_open_all(pgy_model *m);

#endif

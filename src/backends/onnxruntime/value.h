/* SPDX-License-Identifier: Apache-2.0 */
/* Converts tensors to values of ONNX Runtime and back, without copying numbers. */
#ifndef BACKENDS_ONNXRUNTIME_VALUE_H
#define BACKENDS_ONNXRUNTIME_VALUE_H

#include "backends/onnxruntime/api.h"

/* A value that borrows the tensor's memory (strings are copied). The tensor must outlive it. */
pgy_status ort_value_from_tensor(ort_value **out, const ort_api *api, const char *name,
                                 const pgy_tensor *t, pgy_error *err) PGY_MUST_CHECK;
/* A tensor over the value's memory (strings are copied). The tensor owns the value and releases it
 * in the end. Takes over the value, also on failure. */
pgy_status ort_value_to_tensor(pgy_tensor **out, const ort_api *api, const char *name,
                               ort_value *value, pgy_error *err) PGY_MUST_CHECK;
/* The name of an ort_kind: "sequence", "map", ... */
const char *ort_kind_name(int kind);

#endif

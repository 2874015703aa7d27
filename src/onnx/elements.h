/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and elements of stored tensors. */
#ifndef ONNX_ELEMENTS_H
#define ONNX_ELEMENTS_H

#include <polygraphy/onnx.h>

/* Computes the size of the elements from type and shape. PGY_E_FORMAT names the tensor. */
pgy_status tensor_needs_bytes(size_t *out, const pgy_onnx_tensor *t, pgy_error *err) PGY_MUST_CHECK;

/* Like pgy_onnx_tensor_load, but also borrows numbers from the file whose address is not aligned
 * for their type. Read them only by memcpy or unaligned vector loads. */
pgy_status onnx_tensor_load_anywhere(pgy_tensor **out, pgy_model *m, const pgy_onnx_tensor *t,
                                     pgy_error *err) PGY_MUST_CHECK;

#endif

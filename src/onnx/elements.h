/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of tensors as their shape and type say. */
#ifndef ONNX_ELEMENTS_H
#define ONNX_ELEMENTS_H

#include <polygraphy/onnx.h>

/* Bytes of the elements, from type and shape alone. PGY_E_FORMAT naming the tensor */
pgy_status tensor_needs_bytes(size_t *out, const pgy_onnx_tensor *t, pgy_error *err) PGY_MUST_CHECK;

/* As pgy_onnx_tensor_load, but numbers stay where they are in the file even if their address is not
 * aligned for their type: to be read through memcpy or vectors only. */
pgy_status onnx_tensor_load_anywhere(pgy_tensor **out, pgy_model *m, const pgy_onnx_tensor *t,
                                     pgy_error *err) PGY_MUST_CHECK;

#endif

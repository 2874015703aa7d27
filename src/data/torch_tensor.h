/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of torch.save for one plain tensor: a zip archive with a small pickle and the storage.
 * Read only. */
#ifndef DATA_TORCH_TENSOR_H
#define DATA_TORCH_TENSOR_H

#include <polygraphy/tensor.h>

#include "base/json.h"

/* `text` is the base64 string of a Tensor object. PGY_E_FORMAT unless it is one plain tensor. */
pgy_status torch_tensor_read(pgy_tensor **out, const json_value *text, const char *where,
                             pgy_error *err) PGY_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the bytes of a model into a tree. */
#ifndef ONNX_MODEL_READ_H
#define ONNX_MODEL_READ_H

#include <polygraphy/onnx.h>

#include "base/arena.h"

/* The tree lives in `a` and points into `data`. Messages give the field path and the byte offset.
 * @return PGY_E_FORMAT, PGY_E_MEMORY */
pgy_status model_read(pgy_onnx_model **out, arena *a, const void *data, size_t size_bytes,
                      pgy_error *err) PGY_MUST_CHECK;

#endif

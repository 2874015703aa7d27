/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a model between some tensors, as a model of its own. */
#ifndef VIEWER_SERVE_EXTRACT_H
#define VIEWER_SERVE_EXTRACT_H

#include <polygraphy/onnx.h>

#include "base/str.h"

/* Gives the bytes of the new model (pgy_text_free). Empty lists: the inputs or outputs of the
 * model.
 * @return PGY_E_NOT_FOUND for an unknown tensor, PGY_E_ARGUMENT if the part needs more inputs */
pgy_status model_part(void **out, size_t *size_bytes, pgy_model *model, const strvec *inputs,
                      const strvec *outputs, pgy_error *err) PGY_MUST_CHECK;

#endif

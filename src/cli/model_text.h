/* SPDX-License-Identifier: Apache-2.0 */
/* An ONNX model as the text that `inspect model` shows. */
#ifndef CLI_MODEL_TEXT_H
#define CLI_MODEL_TEXT_H

#include <polygraphy/onnx.h>

#include "base/str.h"

typedef struct model_text_options {
    bool layers, attrs, weights;
    bool network; /* as the layers that the engine makes of it */
} model_text_options;

pgy_status model_text(str *out, pgy_model *model, model_text_options options,
                      pgy_error *err) PGY_MUST_CHECK;

#endif

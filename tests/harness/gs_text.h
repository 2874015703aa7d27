/* SPDX-License-Identifier: Apache-2.0 */
/* A model as text, in the notation of tests/data/gs; tests/parity/gs_text.py writes the same. */
#ifndef HARNESS_GS_TEXT_H
#define HARNESS_GS_TEXT_H

#include <polygraphy/onnx.h>

/* Opsets, inputs, nodes, outputs, value infos and weights in their order. Free with pgy_text_free;
 * NULL: out of memory, or a weight cannot be read. */
char *gs_model_text(pgy_model *model);

#endif

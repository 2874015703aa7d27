/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_GROUPS_WHERE_MODEL_H
#define CLI_GROUPS_WHERE_MODEL_H

#include <polygraphy/onnx.h>

#include "cli/command.h"

/* Reads a model as the line's options for ONNX models say, with the conversion to 16 bits. */
pgy_status where_model_load(pgy_model **out, const char *path, const args *line,
                            pgy_error *err) PGY_MUST_CHECK;

#endif

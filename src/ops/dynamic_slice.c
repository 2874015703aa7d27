/* SPDX-License-Identifier: Apache-2.0 */
/* DynamicSlice: Slice whose bounds are inputs, as Slice itself has them since opset 10. An
 * experimental operator of ONNX that models before opset 10 may have. */
#include "ops/class_alias.h"

static const alias_spec SPEC = {"", "Slice", 10, 0};

const op_def OP_dynamic_slice[] = {
    {.name = "DynamicSlice",
     .domain = "",
     .since = 1,
     .deprecated = 10,
     .min_inputs = 3,
     .max_inputs = 4,
     .min_outputs = 1,
     .max_outputs = 1,
     .types = "",
     .infer = alias_infer,
     .eval = alias_eval,
     .flops = rule_no_flops,
     .user_data = &SPEC},
    {0},
};

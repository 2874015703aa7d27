/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNormalization before version 17: ONNX Runtime's optimiser writes it into the default domain
 * of older models, with the meaning of version 17. */
#include "ops/class_alias.h"

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, false, "-1"},
    {"epsilon", OP_ATTR_FLOAT, false, "1e-5"},
    {"stash_type", OP_ATTR_INT, false, "1"},
    {0},
};
static const alias_spec SPEC = {"", "LayerNormalization", 17, 0};

const op_def OP_contrib_layer_normalization[] = {
    {.name = "LayerNormalization",
     .domain = "",
     .since = 1,
     .min_inputs = 2,
     .max_inputs = 3,
     .min_outputs = 1,
     .max_outputs = 3,
     .attrs = ATTRS,
     .types = TYPES_F4,
     .infer = alias_infer,
     .eval = alias_eval,
     .user_data = &SPEC},
    {0},
};

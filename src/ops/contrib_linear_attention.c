/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft LinearAttention: the standard operator with one state. */
#include "ops/class_alias.h"

static const op_attr_def ATTRS[] = {
    {"chunk_size", OP_ATTR_INT, false, "64"},
    {"kv_num_heads", OP_ATTR_INT, true, NULL},
    {"q_num_heads", OP_ATTR_INT, true, NULL},
    {"scale", OP_ATTR_FLOAT, false, "0"},
    {"state_window", OP_ATTR_INT, false, "0"},
    {"update_rule", OP_ATTR_STRING, false, "gated_delta"},
    {0},
};
static const alias_spec SPEC = {"", "LinearAttention", 27, 0};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    if (op_attr_int(c->node, "state_window", 0))
        return op_error(c->node, err, PGY_E_UNSUPPORTED, "only state_window 0 is supported");
    return alias_infer(c, err);
}

const op_def OP_contrib_linear_attention[] = {
    {.name = "LinearAttention",
     .domain = "com.microsoft",
     .since = 1,
     .min_inputs = 3,
     .max_inputs = 6,
     .min_outputs = 2,
     .max_outputs = 2,
     .attrs = ATTRS,
     .types = TYPES_F4,
     .infer = infer,
     .eval = alias_eval,
     .user_data = &SPEC,
     .signature =
         "T = float16 float32 float64 bfloat16; S = float16 float32 float64 bfloat16; query:T, "
         "key:T, value:T, ?past_state:S, ?decay:T, ?beta:T -> output:T, present_state:S"},
    {0},
};

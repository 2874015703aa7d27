/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft CausalConvWithState, the subset that equals the standard operator: one axis
 * after the channels, no dilation, one state. */
#include "ops/class_alias.h"

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, "none"}, {"channels_last", OP_ATTR_INT, false, "0"},
    {"dilation", OP_ATTR_INT, false, "1"},         {"ndim", OP_ATTR_INT, false, "1"},
    {"state_window", OP_ATTR_INT, false, "0"},     {0},
};
static const alias_spec SPEC = {"", "CausalConvWithState", 27, 0};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_node *n = c->node;
    if (op_attr_int(n, "ndim", 1) != 1 || op_attr_int(n, "dilation", 1) != 1 ||
        op_attr_int(n, "channels_last", 0) || op_attr_int(n, "state_window", 0))
        return op_error(
            n, err, PGY_E_UNSUPPORTED,
            "only ndim 1, dilation 1, channels_last 0 and state_window 0 are supported");
    return alias_infer(c, err);
}

const op_def OP_contrib_causal_conv_with_state[] = {
    {.name = "CausalConvWithState",
     .domain = "com.microsoft",
     .since = 1,
     .min_inputs = 2,
     .max_inputs = 4,
     .min_outputs = 2,
     .max_outputs = 2,
     .attrs = ATTRS,
     .types = TYPES_F4,
     .infer = infer,
     .eval = alias_eval,
     .user_data = &SPEC,
     .signature = "T = float16 float32 float64 bfloat16; input:T, weight:T, ?bias:T, ?past_state:T "
                  "-> output:T, present_state:T"},
    {0},
};

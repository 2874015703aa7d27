/* SPDX-License-Identifier: Apache-2.0 */
/* Identity: the input itself, tensors and sequences alike. */
#include "ops/rule.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    (void)err;
    c->outputs[0] = c->inputs[0];
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    return op_forward(c, 0, 0, err);
}

const op_def OP_identity[] = {
    {.name = "Identity",
     .domain = "",
     .since = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .flags = OP_SEQUENCES,
     .types = "",
     .infer = infer,
     .eval = eval,
     .flops = rule_no_flops},
    {0},
};

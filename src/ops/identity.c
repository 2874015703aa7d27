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
    RULE_ROW("Identity", 1, 1, 1, NULL, infer, eval),
    {0},
};

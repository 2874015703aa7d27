/* SPDX-License-Identifier: Apache-2.0 */
/* pgy Assert, for networks with assertions: passes the first input through if every element of the
 * second one is true; else fails with the message. */
#include "ops/class_check.h"

static const op_attr_def ATTRS[] = {
    {"message", OP_ATTR_STRING, false, NULL},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    (void)err;
    c->outputs[0] = c->inputs[0];
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_attr *message = op_attr_find(c->node, "message");
    const bool *holds = in_data(c, 1);
    for (size_t i = 0; i < in_count(c, 1); i++)
        if (!holds[i])
            return op_error(c->node, err, PGY_E_ARGUMENT, "assertion failed: %.*s",
                            message ? (int)message->s.size : 0, message ? message->s.data : "");
    return op_forward(c, 0, 0, err);
}

const op_def OP_pgy_assert[] = {
    {"Assert", "pgy", 1, 0, 2, 2, 1, 1, 0, ATTRS, "", infer, eval, rule_no_flops,
     .signature = "T = all; X:T, condition:bool -> Y:T"},
    {NULL},
};

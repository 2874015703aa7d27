/* SPDX-License-Identifier: Apache-2.0 */
/* CastLike: to the type of the second input. */
#include "ops/class_cast.h"

static const op_attr_def ATTRS_19[] = {
    {"saturate", OP_ATTR_INT, false, "1"},
    {0},
};
static const op_attr_def ATTRS_24[] = {
    {"saturate", OP_ATTR_INT, false, "1"},
    {"round_mode", OP_ATTR_STRING, false, "up", "up down nearest"},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    return cast_infer(c, c->inputs[1].dtype, err);
}

const op_def OP_cast_like[] = {
    RULE_ROW("CastLike", 15, 2, 2, NULL, infer, cast_eval),
    RULE_ROW("CastLike", 19, 2, 2, ATTRS_19, infer, cast_eval),
    RULE_ROW("CastLike", 24, 2, 2, ATTRS_24, infer, cast_eval),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Cast: to the type that an attribute names. */
#include "ops/class_cast.h"

static const op_attr_def ATTRS_6[] = {
    {"to", OP_ATTR_INT, true, NULL},
    {0},
};
static const op_attr_def ATTRS_19[] = {
    {"to", OP_ATTR_INT, true, NULL},
    {"saturate", OP_ATTR_INT, false, "1"},
    {0},
};
static const op_attr_def ATTRS_24[] = {
    {"to", OP_ATTR_INT, true, NULL},
    {"saturate", OP_ATTR_INT, false, "1"},
    {"round_mode", OP_ATTR_STRING, false, "up", "up down nearest"},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const int64_t code = op_attr_int(c->node, "to", 0);
    const pgy_dtype to = code > 0 && code < 1000 ? pgy_dtype_from_onnx((int)code) : PGY_DTYPE_NONE;
    if (!to)
        return op_error(c->node, err, PGY_E_TYPE,
                        "attribute 'to' is %lld, which is not an element type", (long long)code);
    return cast_infer(c, to, err);
}

const op_def OP_cast[] = {
    RULE_ROW_FILLS("Cast", 6, 1, 1, ATTRS_6, infer, cast_eval),
    RULE_ROW_FILLS("Cast", 19, 1, 1, ATTRS_19, infer, cast_eval),
    RULE_ROW_FILLS("Cast", 24, 1, 1, ATTRS_24, infer, cast_eval),
    {0},
};

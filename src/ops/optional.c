/* SPDX-License-Identifier: Apache-2.0 */
/* Optional: a value that may be missing. An optional with an element is held as that element, one
 * without as a sequence marked `none`. */
#include "ops/class_sequence.h"

static const op_attr_def ATTRS[] = {
    {"type", OP_ATTR_TYPE, false, NULL},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    static const op_value unknown = {.rank = -1};
    const pgy_status st = sequence_set(c, 0, op_has_input(c, 0) ? &c->inputs[0] : &unknown, err);
    if (!st) c->outputs[0].optional = true;
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    if (op_has_value(c, 0)) return op_forward(c, 0, 0, err);
    op_sequence *none = op_sequence_create(0);
    if (!none) return rule_no_memory(c->node, err);
    none->none = true;
    sequence_output(c, 0, none);
    return PGY_OK;
}

const op_def OP_optional[] = {
    SEQUENCE_ROW("Optional", 15, 0, 1, 0, ATTRS, infer, eval),
    SEQUENCE_ROW("Optional", 28, 0, 1, 0, ATTRS, infer, eval),
    {0},
};

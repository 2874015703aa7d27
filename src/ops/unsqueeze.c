/* SPDX-License-Identifier: Apache-2.0 */
/* Unsqueeze: new dimensions of size 1 at the axes (an input since version 13), counted in the
 * output. */
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {
    {"axes", OP_ATTR_INTS, true, NULL},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const dim *axes;
    size_t count, which[PGY_MAX_RANK];
    const rule_source source = rule_list(c, "axes", 1, &axes, &count);
    if (source == RULE_ABSENT)
        return op_error(c->node, err, PGY_E_ARGUMENT, "the node has no axes");
    if (x->rank < 0 || source == RULE_UNKNOWN) {
        op_set_unknown(c, 0, x->dtype, -1, "the axes to insert are not known");
        return PGY_OK;
    }
    pgy_status st = rule_check_rank(c->node, (int64_t)count + x->rank, err);
    const int32_t rank = x->rank + (int32_t)count;
    if (!st) st = rule_dim_axes(which, c->node, axes, count, rank, err);
    if (st) return st;
    dim *dims = op_dims(c, (size_t)rank + 1);
    if (!dims) return rule_no_memory(c->node, err);
    bool added[PGY_MAX_RANK] = {false};
    for (size_t i = 0; i < count; i++) added[which[i]] = true;
    for (int32_t i = 0, from = 0; i < rank; i++)
        dims[i] = added[i] ? dim_const(1) : x->dims[from++];
    op_set_output(c, 0, x->dtype, rank, dims);
    rule_same_elements(c);
    return PGY_OK;
}

const op_def OP_unsqueeze[] = {
    RULE_ROW_FILLS("Unsqueeze", 1, 1, 1, ATTRS, infer, rule_forward),
    RULE_ROW_FILLS("Unsqueeze", 13, 2, 2, NULL, infer, rule_forward),
    {0},
};

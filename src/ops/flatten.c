/* SPDX-License-Identifier: Apache-2.0 */
/* Flatten: to a matrix, the dimensions before the axis times those from it on. */
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, false, "1"},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const int64_t given = op_attr_int(c->node, "axis", 1);
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, 2, "the rank of the input is not known");
        return PGY_OK;
    }
    size_t axis = (size_t)x->rank;
    if (given != x->rank) {
        pgy_status st = op_axis(&axis, c->node, given, x->rank, err);
        if (st) return st;
    }
    dim *dims = op_dims(c, 2);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = op_dims_product(c, x->dims, 0, axis);
    dims[1] = op_dims_product(c, x->dims, axis, (size_t)x->rank);
    op_set_output(c, 0, x->dtype, 2, dims);
    return PGY_OK;
}

const op_def OP_flatten[] = {
    RULE_ROW_FILLS("Flatten", 1, 1, 1, ATTRS, infer, rule_forward),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Squeeze: removes dimensions of size 1: those of the axes (an input since version 13), or all. */
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {
    {"axes", OP_ATTR_INTS, false, NULL},
    {0},
};

/* Finds the dimensions of size 1. False: one may or may not be 1, so the rank is unknown. */
static bool find_ones(const op_value *x, bool *gone)
{
    for (int32_t i = 0; i < x->rank; i++) {
        gone[i] = dim_equal(x->dims[i], dim_const(1));
        if (!gone[i] && !dim_differ(x->dims[i], dim_const(1))) return false;
    }
    return true;
}

static pgy_status mark_axes(op_infer *c, const dim *axes, size_t count, bool *gone, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    size_t which[PGY_MAX_RANK];
    pgy_status st = rule_dim_axes(which, c->node, axes, count, x->rank, err);
    for (size_t i = 0; i < count && !st; i++) {
        gone[which[i]] = true;
        const dim d = x->dims[which[i]];
        if (dim_is_const(d) && d.value != 1)
            st = op_error(c->node, err, PGY_E_SHAPE,
                          "dimension %zu is %lld, but only dimensions of 1 can be squeezed",
                          which[i], (long long)d.value);
    }
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const dim *axes;
    size_t count;
    bool gone[PGY_MAX_RANK] = {false};
    const rule_source source = rule_list(c, "axes", 1, &axes, &count);
    pgy_status st = rule_check_rank(c->node, x->rank, err);
    if (st) return st;
    if (x->rank < 0 || source == RULE_UNKNOWN || (source == RULE_ABSENT && !find_ones(x, gone))) {
        op_set_unknown(c, 0, x->dtype, -1, "the dimensions to squeeze are not known");
        return PGY_OK;
    }
    if (source == RULE_KNOWN) st = mark_axes(c, axes, count, gone, err);
    if (st) return st;
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    int32_t rank = 0;
    for (int32_t i = 0; i < x->rank; i++)
        if (!gone[i]) dims[rank++] = x->dims[i];
    op_set_output(c, 0, x->dtype, rank, dims);
    rule_same_elements(c);
    return PGY_OK;
}

const op_def OP_squeeze[] = {
    RULE_ROW_FILLS("Squeeze", 1, 1, 1, ATTRS, infer, rule_forward),
    RULE_ROW_FILLS("Squeeze", 13, 1, 2, NULL, infer, rule_forward),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Shape: dimensions as an int64 vector, or since version 15 those in [start, end). */
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {
    {"start", OP_ATTR_INT, false, "0"},
    {"end", OP_ATTR_INT, false, NULL},
    {0},
};

static size_t clamp(int64_t axis, size_t rank)
{
    if (axis < 0) axis = axis < -(int64_t)rank ? 0 : axis + (int64_t)rank;
    return axis > (int64_t)rank ? rank : (size_t)axis;
}

static void range(const op_node *n, size_t rank, size_t *begin, size_t *end)
{
    *begin = clamp(op_attr_int(n, "start", 0), rank);
    *end = clamp(op_attr_int(n, "end", INT64_MAX), rank);
    if (*end < *begin) *end = *begin;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    size_t begin, end;
    if (x->rank < 0) {
        op_set_unknown(c, 0, PGY_I64, 1, "the rank of the input is not known");
        return PGY_OK;
    }
    range(c->node, (size_t)x->rank, &begin, &end);
    dim *dims = op_dims(c, 1), *elements = op_dims(c, end - begin + 1);
    if (!dims || !elements) return rule_no_memory(c->node, err);
    dims[0] = dim_const((int64_t)(end - begin));
    for (size_t i = begin; i < end; i++) elements[i - begin] = x->dims[i];
    op_set_output(c, 0, PGY_I64, 1, dims);
    rule_set_elements(c, 0, elements, end - begin);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y;
    size_t begin, end;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st) return st;
    range(c->node, pgy_tensor_rank(x), &begin, &end);
    for (size_t i = begin; i < end; i++)
        ((int64_t *)pgy_tensor_data(y))[i - begin] = pgy_tensor_shape(x)[i];
    return PGY_OK;
}

const op_def OP_shape[] = {
    RULE_ROW("Shape", 1, 1, 1, NULL, infer, eval),
    RULE_ROW("Shape", 15, 1, 1, ATTRS, infer, eval),
    {0},
};

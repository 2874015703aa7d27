/* SPDX-License-Identifier: Apache-2.0 */
/* ConstantOfShape: one value everywhere, in a shape that is an input. */
#include "ops/class_check.h"
#include "ops/move.h"
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {
    {"value", OP_ATTR_TENSOR, false, NULL},
    {0},
};

/* Finds attribute value and checks that it has one element; NULL: absent, so the value is a float32
 * zero. */
static pgy_status find_value(const op_attr **out, const op_node *n, pgy_error *err)
{
    *out = op_attr_find(n, "value");
    if (!*out) return PGY_OK;
    if (!(*out)->tensor || pgy_tensor_count((*out)->tensor) != 1)
        return op_error(n, err, PGY_E_SHAPE, "attribute 'value' must hold one element");
    return PGY_OK;
}

static void propagate(op_infer *c, const op_attr *value)
{
    const op_value *y = &c->outputs[0];
    size_t count = 1;
    if (!value || pgy_tensor_dtype(value->tensor) != PGY_I64 || y->rank > 1) return;
    if (y->rank == 1) {
        if (!dim_is_const(y->dims[0]) || y->dims[0].value > RULE_MAX_ELEMENTS) return;
        count = (size_t)y->dims[0].value;
    }
    dim *elements = op_dims(c, count + 1);
    if (!elements) return;
    for (size_t i = 0; i < count; i++)
        elements[i] = dim_const(*(const int64_t *)pgy_tensor_data(value->tensor));
    rule_set_elements(c, 0, elements, count);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_attr *value;
    const dim *dims;
    size_t rank;
    pgy_status st = find_value(&value, c->node, err);
    if (!st) st = rank_check(c, 0, 1, 1, err);
    if (st) return st;
    const pgy_dtype dtype = value ? value->tensor_dtype : PGY_F32;
    const op_value *shape = &c->inputs[0];
    if (!rule_values(c, 0, &dims, &rank)) {
        const bool known = shape->rank == 1 && dim_is_const(shape->dims[0]);
        if (known) st = rule_check_rank(c->node, shape->dims[0].value, err);
        if (!st)
            op_set_unknown(c, 0, dtype, known ? (int32_t)shape->dims[0].value : -1,
                           "the shape is computed at run time");
        return st;
    }
    st = rule_check_rank(c->node, (int64_t)rank, err);
    if (st) return st;
    for (size_t i = 0; i < rank; i++)
        if (rule_is_negative(dims[i]))
            return op_error(c->node, err, PGY_E_SHAPE,
                            "dimension %zu of the shape is %lld, but must not be negative", i,
                            (long long)dims[i].value);
    op_set_output(c, 0, dtype, (int32_t)rank, dims);
    propagate(c, value);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_attr *value;
    pgy_tensor *y;
    pgy_status st = find_value(&value, c->node, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st || !value) return st; /* outputs begin as zeros */
    if (pgy_tensor_dtype(value->tensor) != pgy_tensor_dtype(y))
        return op_error(c->node, err, PGY_E_TYPE,
                        "attribute 'value' has type %s, which differs from the output's",
                        pgy_dtype_name(value->tensor_dtype));
    move_fill(pgy_tensor_data(y), pgy_tensor_data(value->tensor), move_size(pgy_tensor_dtype(y)),
              pgy_tensor_count(y));
    return move_own(y, err);
}

const op_def OP_constant_of_shape[] = {
    RULE_ROW("ConstantOfShape", 9, 1, 1, ATTRS, infer, eval),
    {0},
};

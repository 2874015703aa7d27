/* SPDX-License-Identifier: Apache-2.0 */
/* OneHot: a new axis of length depth that holds the on value at the index and the off value
 * elsewhere. Indices outside
 * [-depth, depth) give only off values. */
#include <string.h>

#include "ops/move.h"
#include "ops/rule.h"
#include "tensor/convert.h"

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, false, "-1"},
    {0},
};

/* Depth may have any numeric type. False: unknown. */
static bool read_depth(const op_infer *c, dim *out)
{
    const dim *values;
    size_t count;
    if (rule_values(c, 1, &values, &count) && count == 1) {
        *out = values[0];
        return true;
    }
    const pgy_tensor *t = c->inputs[1].data;
    if (!t || pgy_tensor_dtype(t) != PGY_F64 || pgy_tensor_count(t) != 1) return false;
    *out = dim_const(rule_truncate(*(const double *)pgy_tensor_data(t)));
    return true;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0], *values = &c->inputs[2];
    size_t axis;
    if (values->rank >= 0 && (values->rank != 1 || dim_differ(values->dims[0], dim_const(2))))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input 2 (values) must be a vector of 2 elements");
    if (x->rank < 0) {
        op_set_unknown(c, 0, values->dtype, -1, "the rank of the indices is not known");
        return PGY_OK;
    }
    pgy_status st = rule_check_rank(c->node, (int64_t)x->rank + 1, err);
    if (!st) st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", -1), x->rank + 1, err);
    if (st) return st;
    dim *dims = op_dims(c, (size_t)x->rank + 1);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t i = 0, from = 0; i <= (size_t)x->rank; i++)
        if (i != axis) dims[i] = x->dims[from++];
    if (!read_depth(c, &dims[axis]))
        dims[axis] = dim_unknown(c->dims, "the depth is computed at run time");
    if (rule_is_negative(dims[axis]))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input 1 (depth) is %lld, but must not be negative",
                        (long long)dims[axis].value);
    op_set_output(c, 0, values->dtype, x->rank + 1, dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *values, *y;
    size_t axis = 0;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_input(c, 2, &values, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st)
        st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", -1), (int32_t)pgy_tensor_rank(y),
                     err);
    if (st) return st;
    const pgy_dtype type = pgy_tensor_dtype(x), storage = pgy_tensor_dtype(y);
    if (type == PGY_STRING || type == PGY_C128 || pgy_tensor_count(values) != 2 ||
        pgy_tensor_dtype(values) != storage)
        return op_error(c->node, err, PGY_E_TYPE,
                        "the indices or the values have a wrong type, or there are not 2 values");
    const size_t bytes = move_size(storage), depth = (size_t)pgy_tensor_shape(y)[axis];
    const size_t inner = move_product(pgy_tensor_shape(y), axis + 1, pgy_tensor_rank(y));
    const char *off = pgy_tensor_data(values), *on = off + bytes;
    char *to = pgy_tensor_data(y);
    move_fill(to, off, bytes, pgy_tensor_count(y));
    for (size_t i = 0; i < pgy_tensor_count(x); i++) {
        const int64_t index = type == PGY_F64
                                  ? rule_truncate(((const double *)pgy_tensor_data(x))[i])
                                  : element_as_i64(type, pgy_tensor_data(x), i);
        size_t at;
        if (!rule_index(&at, index, depth)) continue;
        memcpy(to + ((i / inner * depth + at) * inner + i % inner) * bytes, on, bytes);
    }
    return move_own(y, err);
}

const op_def OP_one_hot[] = {
    RULE_ROW("OneHot", 9, 3, 3, ATTRS, infer, eval),
    {0},
};

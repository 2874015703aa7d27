/* SPDX-License-Identifier: Apache-2.0 */
/* Expand: broadcast with a shape that is an input; either side may have the larger dimensions. */
#include <string.h>

#include "ops/move.h"
#include "ops/rule.h"

static void propagate(op_infer *c)
{
    const op_value *y = &c->outputs[0];
    const dim *values;
    size_t count;
    if (!rule_values(c, 0, &values, &count) || y->rank > 1) return;
    if (count != 1 || y->rank == 0) {
        rule_set_elements(c, 0, values, count);
        return;
    }
    if (!dim_is_const(y->dims[0]) || y->dims[0].value > RULE_MAX_ELEMENTS) return;
    const size_t n = (size_t)y->dims[0].value;
    dim *elements = op_dims(c, n + 1);
    if (!elements) return;
    for (size_t i = 0; i < n; i++) elements[i] = values[0];
    rule_set_elements(c, 0, elements, n);
}

/* Sets the output's shape if the shape input is unknown: dimensions of the input that are not 1
 * stay. */
static pgy_status keep_wide(op_infer *c, int32_t rank, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    dim *dims = c->outputs[0].rank == rank ? op_dims(c, (size_t)rank + 1) : NULL;
    if (!dims) return rule_no_memory(c->node, err);
    memcpy(dims, c->outputs[0].dims, (size_t)rank * sizeof *dims);
    for (int32_t i = 0; i < x->rank; i++)
        if (dim_differ(x->dims[i], dim_const(1))) dims[rank - x->rank + i] = x->dims[i];
    op_set_output(c, 0, x->dtype, rank, dims);
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0], *shape = &c->inputs[1];
    const dim *wanted, *dims;
    size_t count;
    int32_t rank;
    if (!rule_values(c, 1, &wanted, &count)) {
        rank = -1;
        if (x->rank >= 0 && shape->rank == 1 && dim_is_const(shape->dims[0]) &&
            shape->dims[0].value <= PGY_MAX_RANK)
            rank = shape->dims[0].value > x->rank ? (int32_t)shape->dims[0].value : x->rank;
        op_set_unknown(c, 0, x->dtype, rank, "the shape is computed at run time");
        return rank < 0 ? PGY_OK : keep_wide(c, rank, err);
    }
    pgy_status st = rule_check_rank(c->node, (int64_t)count, err);
    if (!st) st = rule_check_rank(c->node, x->rank, err);
    for (size_t i = 0; i < count && !st; i++)
        if (rule_is_negative(wanted[i]))
            st = op_error(c->node, err, PGY_E_SHAPE,
                          "dimension %zu of the shape is %lld, but must not be negative", i,
                          (long long)wanted[i].value);
    if (st) return st;
    const op_value both[] = {*x, {.rank = (int32_t)count, .dims = wanted}};
    st = op_broadcast(c, &rank, &dims, both, 2, err);
    if (st) return st;
    op_set_output(c, 0, x->dtype, rank, dims);
    propagate(c);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y;
    move_box box;
    ptrdiff_t strides[PGY_MAX_RANK];
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st) return st;
    const size_t own = pgy_tensor_rank(x);
    const int64_t *shape = pgy_tensor_shape(x);
    move_strides(strides, own, shape);
    move_box_init(&box, pgy_tensor_rank(y), pgy_tensor_shape(y));
    const size_t skipped = box.rank - own;
    for (size_t d = 0; d < box.rank; d++)
        box.from[d] = d < skipped || shape[d - skipped] == 1 ? 0 : strides[d - skipped];
    move_copy(pgy_tensor_data(y), pgy_tensor_data(x), move_size(pgy_tensor_dtype(x)), &box);
    return move_own(y, err);
}

const op_def OP_expand[] = {
    RULE_ROW("Expand", 8, 2, 2, NULL, infer, eval),
    {0},
};

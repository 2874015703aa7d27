/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft UnfoldTensor: windows of `size` elements along an axis, every `step` elements. The
 * elements of a window lie in a new last axis. */
#include <string.h>

#include "ops/class_check.h"
#include "ops/move.h"

static const op_attr_def ATTRS[] = {
    {"dim", OP_ATTR_INT, false, "-1"},
    {"size", OP_ATTR_INT, true, NULL, .range = "1.."},
    {"step", OP_ATTR_INT, false, "1", .range = "1.."},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const int64_t size = op_attr_int(c->node, "size", 1), step = op_attr_int(c->node, "step", 1);
    size_t axis;
    pgy_status st = rank_check(c, 0, 1, PGY_MAX_RANK - 1, err);
    op_set_unknown(c, 0, x->dtype, -1, "the shape of the input is not known");
    if (st || x->rank < 0) return st;
    st = op_axis(&axis, c->node, op_attr_int(c->node, "dim", -1), x->rank, err);
    if (st) return st;
    dim *dims = op_dims(c, (size_t)x->rank + 1);
    if (!dims) return rule_no_memory(c->node, err);
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    if (dim_is_const(dims[axis]) && dims[axis].value < size)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "attribute size is %lld, but axis %zu has only %lld elements",
                        (long long)size, axis, (long long)dims[axis].value);
    const dim last = dim_sub(c->dims, dims[axis], dim_const(size));
    dims[axis] = dim_add(c->dims, dim_div_floor(c->dims, last, dim_const(step)), dim_const(1));
    dims[x->rank] = dim_const(size);
    op_set_output(c, 0, x->dtype, x->rank + 1, dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const size_t rank = in_rank(c, 0);
    pgy_tensor *x, *y;
    size_t axis;
    move_box box;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) st = op_axis(&axis, c->node, op_attr_int(c->node, "dim", -1), (int32_t)rank, err);
    if (st || !out_count(c, 0)) return st;
    ptrdiff_t strides[PGY_MAX_RANK];
    move_strides(strides, rank, in_shape(c, 0));
    move_box_init(&box, rank + 1, out_shape(c, 0));
    memcpy(box.from, strides, rank * sizeof *strides);
    box.from[axis] = strides[axis] * (ptrdiff_t)op_attr_int(c->node, "step", 1);
    box.from[rank] = strides[axis];
    move_copy(out_data(c, 0), in_data(c, 0), move_size(op_storage(c->inputs[0].dtype)), &box);
    return move_own(y, err);
}

const op_def OP_unfold_tensor[] = {
    {.name = "UnfoldTensor",
     .domain = "com.microsoft",
     .since = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .attrs = ATTRS,
     .types = "",
     .infer = infer,
     .eval = eval,
     .flops = rule_no_flops,
     .signature = "T = all; input:T -> output:T"},
    {NULL},
};

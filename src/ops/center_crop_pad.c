/* SPDX-License-Identifier: Apache-2.0 */
/* CenterCropPad: crops the input to its middle, or pads it with zeros on both sides, to the given
 * size of each axis. If a difference is odd, one more element is cut or padded at the end. */
#include <string.h>

#include "ops/class_check.h"
#include "ops/move.h"

static const op_attr_def ATTRS[] = {
    {"axes", OP_ATTR_INTS, false, NULL},
    {0},
};

static pgy_status chosen_axes(size_t *axes, size_t *count, const op_node *n, int32_t rank,
                              pgy_error *err)
{
    size_t given;
    const int64_t *list = op_attr_ints(n, "axes", &given);
    if (list) {
        *count = given;
        return rule_axes(axes, n, list, given, rank, err);
    }
    *count = (size_t)rank;
    for (size_t i = 0; i < *count; i++) axes[i] = i;
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const dim *sizes;
    size_t axes[PGY_MAX_RANK], count, given;
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, -1, "the shape of the input is not known");
        return PGY_OK;
    }
    pgy_status st = rule_check_rank(c->node, x->rank, err);
    if (!st) st = chosen_axes(axes, &count, c->node, x->rank, err);
    if (st) return st;
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    const bool known = rule_values(c, 1, &sizes, &given);
    if (known && given != count)
        return op_error(c->node, err, PGY_E_SHAPE, "input 1 (shape) has %zu sizes for %zu axes",
                        given, count);
    for (size_t i = 0; i < count; i++) {
        if (known && rule_is_negative(sizes[i]))
            return op_error(c->node, err, PGY_E_SHAPE, "size %zu is %lld, but must not be negative",
                            i, (long long)sizes[i].value);
        dims[axes[i]] =
            known ? sizes[i] : dim_unknown(c->dims, "the sizes are computed at run time");
    }
    op_set_output(c, 0, x->dtype, x->rank, dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st) return st;
    const size_t rank = pgy_tensor_rank(x), bytes = move_size(pgy_tensor_dtype(x));
    move_box from, box;
    move_box_init(&from, rank, pgy_tensor_shape(x));
    move_box_init(&box, rank, pgy_tensor_shape(y));
    const char *source = pgy_tensor_data(x);
    char *target = pgy_tensor_data(y); /* zeroed by the executor, so padding needs no writes */
    for (size_t d = 0; d < rank; d++) {
        const size_t have = from.size[d], want = box.size[d];
        box.from[d] = from.from[d];
        box.size[d] = have < want ? have : want;
        if (have > want) source += (have - want) / 2 * (size_t)box.from[d] * bytes;
        if (want > have) target += (want - have) / 2 * (size_t)box.to[d] * bytes;
    }
    move_copy(target, source, bytes, &box);
    return move_own(y, err);
}

const op_def OP_center_crop_pad[] = {
    RULE_ROW("CenterCropPad", 18, 2, 2, ATTRS, infer, eval),
    {0},
};

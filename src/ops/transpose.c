/* SPDX-License-Identifier: Apache-2.0 */
/* Transpose: permutes dimensions; the default reverses them. */
#include "ops/move.h"
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {
    {"perm", OP_ATTR_INTS, false, NULL},
    {0},
};

static pgy_status permutation(size_t *out, const op_node *n, int32_t rank, pgy_error *err)
{
    size_t count;
    const int64_t *perm = op_attr_ints(n, "perm", &count);
    pgy_status st = rule_check_rank(n, rank, err);
    if (st) return st;
    for (int32_t i = 0; i < rank; i++) out[i] = (size_t)(rank - 1 - i);
    if (!perm) return PGY_OK;
    if ((int64_t)count != rank)
        return op_error(n, err, PGY_E_SHAPE,
                        "attribute perm has %zu entries for an input of rank %d", count, rank);
    for (size_t i = 0; i < count; i++)
        if (perm[i] < 0)
            return op_error(n, err, PGY_E_SHAPE, "attribute perm has the negative value %lld",
                            (long long)perm[i]);
    return rule_axes(out, n, perm, count, rank, err);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    size_t perm[PGY_MAX_RANK], count;
    if (x->rank < 0) {
        const bool given = op_attr_ints(c->node, "perm", &count);
        if (given && count > PGY_MAX_RANK) return rule_check_rank(c->node, (int64_t)count, err);
        op_set_unknown(c, 0, x->dtype, given ? (int32_t)count : -1,
                       "the shape of the input is not known");
        return PGY_OK;
    }
    pgy_status st = permutation(perm, c->node, x->rank, err);
    if (st) return st;
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    for (int32_t i = 0; i < x->rank; i++) dims[i] = x->dims[perm[i]];
    op_set_output(c, 0, x->dtype, x->rank, dims);
    rule_same_elements(c);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y;
    size_t perm[PGY_MAX_RANK];
    ptrdiff_t strides[PGY_MAX_RANK];
    move_box box;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) st = permutation(perm, c->node, (int32_t)pgy_tensor_rank(x), err);
    if (st) return st;
    move_strides(strides, pgy_tensor_rank(x), pgy_tensor_shape(x));
    move_box_init(&box, pgy_tensor_rank(y), pgy_tensor_shape(y));
    for (size_t i = 0; i < box.rank; i++) box.from[i] = strides[perm[i]];
    move_copy(pgy_tensor_data(y), pgy_tensor_data(x), move_size(pgy_tensor_dtype(x)), &box);
    return move_own(y, err);
}

const op_def OP_transpose[] = {
    RULE_ROW_FILLS("Transpose", 1, 1, 1, ATTRS, infer, eval),
    {0},
};

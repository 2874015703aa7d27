/* SPDX-License-Identifier: Apache-2.0 */
/* ScatterND: a copy of the data in which updates replace the blocks at the index tuples or, since
 * version 16, are reduced with them, in order. */
#include <string.h>

#include "ops/class_elements.h"
#include "ops/class_tuples.h"

static const op_attr_def ATTRS_16[] = {
    {"reduction", OP_ATTR_STRING, false, "none", "none add mul max min"},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0], *indices = &c->inputs[1], *updates = &c->inputs[2];
    int64_t length;
    pgy_status st = rule_same_type(c, 0, 2, err);
    if (st) return st;
    op_set_like(c, 0, 0);
    if (!tuples_length(c, 0, 0, &length, &st, err) || updates->rank < 0) return st;
    const int64_t rank = indices->rank - 1 + x->rank - length;
    if (updates->rank != rank)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the updates have rank %d, but must have rank %lld", updates->rank,
                        (long long)rank);
    for (int32_t i = 0; i < rank; i++) {
        const dim wanted =
            i < indices->rank - 1 ? indices->dims[i] : x->dims[i - (indices->rank - 1) + length];
        if (dim_differ(wanted, updates->dims[i]))
            return op_error(
                c->node, err, PGY_E_SHAPE,
                "the shape of the updates does not fit the indices and the data along axis %d", i);
    }
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *updates, *y;
    scatter_reduction reduction;
    tuples t;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_input(c, 2, &updates, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) st = tuples_begin(&t, c, x, 0, err);
    if (!st) st = scatter_reduction_of(&reduction, c->node, err);
    if (st) return st;
    const pgy_dtype storage = pgy_tensor_dtype(x);
    const size_t bytes = move_size(storage);
    if (pgy_tensor_count(updates) != t.count * t.block || pgy_tensor_dtype(updates) != storage)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the updates do not fit the indices in number or type");
    char *to = pgy_tensor_data(y);
    const char *from = pgy_tensor_data(updates);
    memcpy(to, pgy_tensor_data(x), pgy_tensor_count(x) * bytes);
    for (size_t i = 0, at; i < t.count; i++) {
        st = tuples_offset(&t, c, i, &at, err);
        if (!st)
            st = scatter_apply(c->node, storage, reduction, to + at * bytes,
                               from + i * t.block * bytes, t.block, err);
        if (st) return st;
    }
    return move_own(y, err);
}

const op_def OP_scatter_nd[] = {
    RULE_ROW("ScatterND", 11, 3, 3, NULL, infer, eval),
    RULE_ROW("ScatterND", 16, 3, 3, ATTRS_16, infer, eval),
    {0},
};

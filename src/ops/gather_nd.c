/* SPDX-License-Identifier: Apache-2.0 */
/* GatherND: blocks of the data that index tuples select, within batches since version 12. */
#include <string.h>

#include "ops/class_tuples.h"
#include "ops/move.h"

static const op_attr_def ATTRS_12[] = {
    {"batch_dims", OP_ATTR_INT, false, "0", NULL, "0.."},
    {0},
};

static pgy_status batch_count(size_t *out, const op_node *n, pgy_error *err)
{
    const int64_t given = op_attr_int(n, "batch_dims", 0);
    if (given < 0 || given > PGY_MAX_RANK)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute batch_dims is %lld, which is out of range", (long long)given);
    *out = (size_t)given;
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0], *indices = &c->inputs[1];
    size_t batch_dims = 0;
    int64_t length;
    pgy_status st = batch_count(&batch_dims, c->node, err);
    if (st) return st;
    if (!tuples_length(c, batch_dims, 1, &length, &st, err)) {
        if (!st) op_set_unknown(c, 0, x->dtype, -1, "the length of the index tuples is not known");
        return st;
    }
    const int64_t rank = indices->rank - 1 + x->rank - length - (int64_t)batch_dims;
    st = rule_check_rank(c->node, rank, err);
    if (st) return st;
    dim *dims = op_dims(c, (size_t)rank + 1);
    if (!dims) return rule_no_memory(c->node, err);
    size_t n = 0;
    for (int32_t i = 0; i < indices->rank - 1; i++) dims[n++] = indices->dims[i];
    for (int64_t i = (int64_t)batch_dims + length; i < x->rank; i++) dims[n++] = x->dims[i];
    op_set_output(c, 0, x->dtype, (int32_t)rank, dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y;
    size_t batch_dims = 0;
    tuples t;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) st = batch_count(&batch_dims, c->node, err);
    if (!st) st = tuples_begin(&t, c, x, batch_dims, err);
    if (st) return st;
    const size_t bytes = move_size(pgy_tensor_dtype(x));
    char *to = pgy_tensor_data(y);
    const char *from = pgy_tensor_data(x);
    for (size_t i = 0, at; i < t.count; i++) {
        st = tuples_offset(&t, c, i, &at, err);
        if (st) return st;
        memcpy(to + i * t.block * bytes, from + at * bytes, t.block * bytes);
    }
    return move_own(y, err);
}

const op_def OP_gather_nd[] = {
    RULE_ROW("GatherND", 11, 2, 2, NULL, infer, eval),
    RULE_ROW("GatherND", 12, 2, 2, ATTRS_12, infer, eval),
    {0},
};

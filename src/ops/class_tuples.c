/* SPDX-License-Identifier: Apache-2.0 */
/* Index tuples of GatherND and ScatterND: their length decides ranks, their entries decide
 * offsets. */
#include "ops/class_tuples.h"

#include "ops/move.h"

bool tuples_length(const op_infer *c, size_t batch_dims, int64_t least, int64_t *out,
                   pgy_status *st, pgy_error *err)
{
    const op_value *x = &c->inputs[0], *indices = &c->inputs[1];
    *st = PGY_OK;
    if (x->rank < 0 || indices->rank < 0) return false;
    if (indices->rank < 1 || x->rank < 1 || (int64_t)batch_dims >= indices->rank ||
        (int64_t)batch_dims >= x->rank) {
        *st = op_error(c->node, err, PGY_E_SHAPE,
                       "data of rank %d and indices of rank %d do not fit %zu batch axes", x->rank,
                       indices->rank, batch_dims);
        return false;
    }
    for (size_t i = 0; i < batch_dims; i++) {
        if (!dim_differ(x->dims[i], indices->dims[i])) continue;
        *st = op_error(c->node, err, PGY_E_SHAPE,
                       "the data and the indices differ in the size of batch axis %zu", i);
        return false;
    }
    const dim last = indices->dims[indices->rank - 1];
    if (!dim_is_const(last)) return false;
    if (last.value < least || last.value > x->rank - (int64_t)batch_dims) {
        *st = op_error(c->node, err, PGY_E_SHAPE,
                       "the indices are tuples of %lld, but the data has %lld axes to index",
                       (long long)last.value, (long long)x->rank - (long long)batch_dims);
        return false;
    }
    *out = last.value;
    return true;
}

pgy_status tuples_begin(tuples *t, const op_eval *c, const pgy_tensor *data, size_t batch_dims,
                        pgy_error *err)
{
    size_t entries;
    const pgy_status st = op_eval_ints(c, 1, &t->indices, &entries, err);
    if (st) return st;
    const pgy_tensor *indices = c->inputs[1].value;
    const int64_t *shape = pgy_tensor_shape(data);
    const size_t rank = pgy_tensor_rank(data), index_rank = pgy_tensor_rank(indices);
    t->length = (size_t)pgy_tensor_shape(indices)[index_rank - 1];
    t->count = move_product(pgy_tensor_shape(indices), 0, index_rank - 1);
    t->batches = move_product(shape, 0, batch_dims);
    t->dims = shape + batch_dims;
    t->block = move_product(shape, batch_dims + t->length, rank);
    t->batch_elements = move_product(shape, batch_dims, rank);
    return PGY_OK;
}

pgy_status tuples_offset(const tuples *t, const op_eval *c, size_t i, size_t *at, pgy_error *err)
{
    size_t offset = 0;
    for (size_t k = 0; k < t->length; k++) {
        const int64_t given = t->indices[i * t->length + k];
        size_t index;
        if (!rule_index(&index, given, (size_t)t->dims[k]))
            return op_error(c->node, err, PGY_E_SHAPE, "index %lld is not in [-%lld, %lld)",
                            (long long)given, (long long)t->dims[k], (long long)t->dims[k]);
        offset = offset * (size_t)t->dims[k] + index;
    }
    const size_t batch = i / (t->count / t->batches);
    *at = batch * t->batch_elements + offset * t->block;
    return PGY_OK;
}

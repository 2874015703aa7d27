/* SPDX-License-Identifier: Apache-2.0 */
/* Gather: slices of the first input along an axis, chosen by an index tensor of any shape. */
#include <string.h>

#include "base/system.h"
#include "ops/gemm.h"
#include "ops/move.h"
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, false, "0"},
    {0},
};

static void propagate(op_infer *c)
{
    const dim *values, *indices;
    size_t size, count;
    if (!rule_values(c, 0, &values, &size) || !rule_values(c, 1, &indices, &count)) return;
    if (c->inputs[0].rank != 1 || count > RULE_MAX_ELEMENTS) return;
    dim *elements = op_dims(c, count + 1);
    if (!elements) return;
    for (size_t i = 0; i < count; i++) {
        size_t at;
        if (!dim_is_const(indices[i]) || !rule_index(&at, indices[i].value, size)) return;
        elements[i] = values[at];
    }
    rule_set_elements(c, 0, elements, count);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0], *indices = &c->inputs[1];
    size_t axis;
    if (x->rank < 0 || indices->rank < 0) {
        op_set_unknown(c, 0, x->dtype, -1, "the rank of an input is not known");
        return PGY_OK;
    }
    const int32_t rank = x->rank - 1 + indices->rank;
    pgy_status st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", 0), x->rank, err);
    if (!st) st = rule_check_rank(c->node, rank, err);
    if (st) return st;
    dim *dims = op_dims(c, (size_t)rank + 1);
    if (!dims) return rule_no_memory(c->node, err);
    size_t n = 0;
    for (size_t i = 0; i < axis; i++) dims[n++] = x->dims[i];
    for (int32_t i = 0; i < indices->rank; i++) dims[n++] = indices->dims[i];
    for (size_t i = axis + 1; i < (size_t)x->rank; i++) dims[n++] = x->dims[i];
    op_set_output(c, 0, x->dtype, rank, dims);
    propagate(c);
    return PGY_OK;
}

typedef struct job {
    char *to;
    const char *from;
    const int64_t *indices;
    size_t count, size, block, per_piece, total;
    bool widen; /* the data are float32 and are converted to doubles while they are copied */
} job;

static void copy_block(const job *j, size_t to, size_t from)
{
    if (!j->widen) {
        memcpy(j->to + to * j->block, j->from + from * j->block, j->block);
        return;
    }
    const size_t count = j->block / sizeof(float);
    gemm_widen((double *)j->to + to * count, j->from + from * j->block, count);
}

static void copy_piece(size_t piece, void *user)
{
    const job *j = user;
    const size_t begin = piece * j->per_piece;
    const size_t end = j->total - begin < j->per_piece ? j->total : begin + j->per_piece;
    for (size_t i = begin; i < end; i++) {
        size_t at = 0;
        const size_t outer = i / j->count;
        (void)rule_index(&at, j->indices[i % j->count], j->size);
        copy_block(j, i, outer * j->size + at);
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y;
    job j;
    size_t axis, unused;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) st = op_eval_ints(c, 1, &j.indices, &j.count, err);
    if (!st)
        st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", 0), (int32_t)pgy_tensor_rank(x),
                     err);
    if (st) return st;
    const int64_t *shape = pgy_tensor_shape(x);
    j.size = (size_t)shape[axis];
    for (size_t i = 0; i < j.count; i++)
        if (!rule_index(&unused, j.indices[i], j.size))
            return op_error(c->node, err, PGY_E_SHAPE, "index %lld is not in [-%zu, %zu)",
                            (long long)j.indices[i], j.size, j.size);
    j.to = pgy_tensor_data(y);
    j.from = pgy_tensor_data(x);
    j.widen = pgy_tensor_dtype(x) != pgy_tensor_dtype(y);
    j.block = move_product(shape, axis + 1, pgy_tensor_rank(x)) *
              (j.widen ? sizeof(float) : move_size(pgy_tensor_dtype(x)));
    j.total = move_product(shape, 0, axis) * j.count;
    if (!pgy_tensor_count(y)) return PGY_OK;
    j.per_piece = j.block < 65536 ? 65536 / j.block : 1;
    parallel_for_until_cancelled((j.total + j.per_piece - 1) / j.per_piece, copy_piece, &j);
    return move_own(y, err);
}

const op_def OP_gather[] = {
    {.name = "Gather",
     .domain = "",
     .since = 1,
     .min_inputs = 2,
     .max_inputs = 2,
     .min_outputs = 1,
     .max_outputs = 1,
     .flags = OP_FILLS,
     .attrs = ATTRS,
     .types = "",
     .infer = infer,
     .eval = eval,
     .flops = rule_no_flops,
     .narrow_inputs = 1 << 0},
    {0},
};

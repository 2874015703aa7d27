/* SPDX-License-Identifier: Apache-2.0 */
/* Tile: the input repeated along each axis. */
#include "ops/move.h"
#include "ops/rule.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const dim *repeats;
    size_t count;
    const bool known = rule_values(c, 1, &repeats, &count);
    if (x->rank < 0 || !known) {
        const int32_t rank = x->rank >= 0                     ? x->rank
                             : known && count <= PGY_MAX_RANK ? (int32_t)count
                                                              : -1;
        op_set_unknown(c, 0, x->dtype, rank, "the repeats or the shape of the input are not known");
        return PGY_OK;
    }
    if ((int64_t)count != x->rank)
        return op_error(c->node, err, PGY_E_SHAPE, "there are %zu repeats for an input of rank %d",
                        count, x->rank);
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t i = 0; i < count; i++) {
        if (rule_is_negative(repeats[i]))
            return op_error(c->node, err, PGY_E_SHAPE,
                            "repeat %zu is %lld, but must not be negative", i,
                            (long long)repeats[i].value);
        dims[i] = dim_mul(c->dims, x->dims[i], repeats[i]);
    }
    op_set_output(c, 0, x->dtype, x->rank, dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y;
    const int64_t *repeats;
    size_t count;
    ptrdiff_t to[PGY_MAX_RANK], from[PGY_MAX_RANK];
    move_box box = {0};
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) st = op_eval_ints(c, 1, &repeats, &count, err);
    if (st) return st;
    const size_t rank = pgy_tensor_rank(x);
    move_strides(from, rank, pgy_tensor_shape(x));
    move_strides(to, rank, pgy_tensor_shape(y));
    for (size_t d = 0; d < rank; d++) { /* each axis is (repeats, elements) */
        const int64_t size = pgy_tensor_shape(x)[d];
        const bool repeated = repeats[d] != 1;
        if (box.rank + 1 + repeated > PGY_MAX_RANK)
            return op_error(
                c->node, err, PGY_E_UNSUPPORTED,
                "rank %zu and the number of repeated axes together exceed the supported rank",
                rank);
        if (repeated) {
            box.size[box.rank] = (size_t)repeats[d];
            box.to[box.rank] = to[d] * (ptrdiff_t)size;
            box.from[box.rank++] = 0;
        }
        box.size[box.rank] = (size_t)size;
        box.to[box.rank] = to[d];
        box.from[box.rank++] = from[d];
    }
    move_copy(pgy_tensor_data(y), pgy_tensor_data(x), move_size(pgy_tensor_dtype(x)), &box);
    return move_own(y, err);
}

const op_def OP_tile[] = {
    RULE_ROW("Tile", 6, 2, 2, NULL, infer, eval),
    {0},
};

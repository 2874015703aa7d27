/* SPDX-License-Identifier: Apache-2.0 */
/* ReverseSequence: reverses, in every batch entry, the first `length` elements of the time axis. */
#include <string.h>

#include "ops/move.h"
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {
    {"batch_axis", OP_ATTR_INT, false, "1"},
    {"time_axis", OP_ATTR_INT, false, "0"},
    {0},
};

static pgy_status find_axes(size_t *time, size_t *batch, const op_node *n, pgy_error *err)
{
    const int64_t t = op_attr_int(n, "time_axis", 0), b = op_attr_int(n, "batch_axis", 1);
    if (!((t == 0 && b == 1) || (t == 1 && b == 0)))
        return op_error(
            n, err, PGY_E_ARGUMENT,
            "attributes time_axis and batch_axis are %lld and %lld, but must be 0 and 1 or 1 and 0",
            (long long)t, (long long)b);
    *time = (size_t)t;
    *batch = (size_t)b;
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0], *lengths = &c->inputs[1];
    size_t time, batch;
    pgy_status st = find_axes(&time, &batch, c->node, err);
    if (st) return st;
    if (x->rank >= 0 && x->rank < 2)
        return op_error(c->node, err, PGY_E_SHAPE, "the input has rank %d, but needs 2 or more",
                        x->rank);
    if (lengths->rank >= 0 &&
        (lengths->rank != 1 || (x->rank > 0 && dim_differ(lengths->dims[0], x->dims[batch]))))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "sequence_lens must be a vector with one entry per batch entry");
    op_set_like(c, 0, 0);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y;
    const int64_t *lengths;
    size_t count, time = 0, batch = 0;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) st = op_eval_ints(c, 1, &lengths, &count, err);
    if (!st) st = find_axes(&time, &batch, c->node, err);
    if (st) return st;
    const int64_t *shape = pgy_tensor_shape(x);
    const size_t steps = (size_t)shape[time], entries = (size_t)shape[batch],
                 second = (size_t)shape[1];
    const size_t block =
        move_product(shape, 2, pgy_tensor_rank(x)) * move_size(pgy_tensor_dtype(x));
    char *to = pgy_tensor_data(y);
    const char *from = pgy_tensor_data(x);
    for (size_t b = 0; b < entries; b++) {
        if (lengths[b] < 0 || (uint64_t)lengths[b] > steps)
            return op_error(c->node, err, PGY_E_SHAPE,
                            "sequence_lens has length %lld, which is not in [0, %zu]",
                            (long long)lengths[b], steps);
        for (size_t t = 0; t < steps; t++) {
            const size_t length = (size_t)lengths[b], other = t < length ? length - 1 - t : t;
            const size_t at = time == 0 ? t * second + b : b * second + t;
            const size_t source = time == 0 ? other * second + b : b * second + other;
            memcpy(to + at * block, from + source * block, block);
        }
    }
    return move_own(y, err);
}

const op_def OP_reverse_sequence[] = {
    RULE_ROW("ReverseSequence", 10, 2, 2, ATTRS, infer, eval),
    {0},
};

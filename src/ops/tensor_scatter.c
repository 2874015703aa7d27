/* SPDX-License-Identifier: Apache-2.0 */
/* TensorScatter: writes new entries into a cache along an axis, from an own index on for each batch
 * entry; in circular mode the index wraps around. */
#include <string.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"
#include "ops/move.h"

enum { CACHE, UPDATE, INDICES };

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, false, "-2"},
    {"mode", OP_ATTR_STRING, false, "linear", "linear circular"},
    {NULL},
};

static pgy_status find_axis(size_t *axis, const op_node *n, int32_t rank, pgy_error *err)
{
    const pgy_status st = op_axis(axis, n, op_attr_int(n, "axis", -2), rank, err);
    if (!st && *axis == 0)
        return op_error(n, err, PGY_E_SHAPE,
                        "attribute axis is the batch axis, which cannot be written along");
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[CACHE];
    size_t axis;
    if (!op_attr_is(c->node, "mode", "linear", "linear") &&
        !op_attr_is(c->node, "mode", "circular", "linear"))
        return op_error(c->node, err, PGY_E_ARGUMENT, "attribute mode must be linear or circular");
    op_set_like(c, 0, CACHE);
    if (x->rank < 0) return PGY_OK;
    pgy_status st = find_axis(&axis, c->node, x->rank, err);
    if (!st) st = rank_check(c, UPDATE, x->rank, x->rank, err);
    if (!st) st = rank_check(c, INDICES, 1, 1, err);
    if (!st) st = dim_check(c, INDICES, 0, x->dims[0], "the batch", err);
    for (int32_t d = 0; !st && d < x->rank; d++)
        if ((size_t)d != axis)
            st =
                dim_check(c, UPDATE, (size_t)d, x->dims[d], "the same dimension of the cache", err);
    return st;
}

static pgy_status check_indices(const op_eval *c, size_t room, size_t length, bool circular,
                                pgy_error *err)
{
    const int64_t *at = in_i64(c, INDICES);
    if (length > room)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the update has %zu entries, but the cache has room for %zu", length, room);
    for (size_t i = 0; at && i < in_count(c, INDICES); i++)
        if (at[i] < 0 || (!circular && (uint64_t)at[i] > room - length))
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "write index %lld with %zu entries exceeds the cache of %zu",
                            (long long)at[i], length, room);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    size_t axis;
    const size_t rank = in_rank(c, CACHE);
    const bool circular = op_attr_is(c->node, "mode", "circular", "linear");
    pgy_status st = inputs_check(c, "!Si", err);
    if (!st) st = find_axis(&axis, c->node, (int32_t)rank, err);
    if (st) return st;
    const axis_view to = axis_view_of(in_shape(c, CACHE), rank, axis, axis + 1);
    const size_t length = (size_t)in_shape(c, UPDATE)[axis];
    const size_t bytes = move_size(pgy_tensor_dtype(c->outputs[0].value)) * to.inner;
    const size_t batch = (size_t)in_shape(c, CACHE)[0], blocks = batch ? to.outer / batch : 0;
    char *y = out_data(c, 0);
    const char *update = in_data(c, UPDATE);
    st = check_indices(c, to.length, length, circular, err);
    if (st) return st;
    memcpy(y, in_data(c, CACHE), to.outer * to.length * bytes);
    for (size_t i = 0; i < to.outer; i++) {
        const int64_t *at = in_i64(c, INDICES);
        const size_t first = at ? (size_t)at[i / blocks] % (to.length ? to.length : 1) : 0;
        for (size_t k = 0; k < length; k++)
            memcpy(y + (i * to.length + (first + k) % to.length) * bytes,
                   update + (i * length + k) * bytes, bytes);
    }
    return move_own(c->outputs[0].value, err);
}

const op_def OP_tensor_scatter[] = {
    {"TensorScatter", "", 24, 0, 2, 3, 1, 1, 0, ATTRS, "", infer, eval, rule_no_flops},
    {NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* ConcatFromSequence: the items of a sequence one after the other along an axis, or stacked along a
 * new one. */
#include <string.h>

#include "ops/class_sequence.h"
#include "ops/move.h"

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, true, NULL},
    {"new_axis", OP_ATTR_INT, false, "0"},
    {0},
};

static bool is_stacked(const op_node *n)
{
    return op_attr_int(n, "new_axis", 0) != 0;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    op_value element;
    size_t axis;
    const bool stacked = is_stacked(c->node);
    pgy_status st = sequence_element(&element, c, 0, err);
    if (st) return st;
    op_set_output(c, 0, element.dtype, -1, NULL);
    c->why = "the items of the sequence are not known";
    if (element.rank < 0) return PGY_OK;
    const int32_t rank = element.rank + stacked;
    st = rule_check_rank(c->node, rank, err);
    if (!st) st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", 0), rank, err);
    if (st) return st;
    dim *dims = op_dims(c, (size_t)rank + 1);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t d = 0, from = 0; d < (size_t)rank; d++) {
        dims[d] = d == axis ? dim_unknown(c->dims, "the length of a sequence is not known")
                            : element.dims[from];
        from += d != axis || !stacked;
    }
    op_set_output(c, 0, element.dtype, rank, dims);
    return PGY_OK;
}

/* Checks that all items agree except along the joined axis; `total` is the sum along that axis. */
static pgy_status check_items(const op_eval *c, const op_sequence *s, size_t axis, int64_t *total,
                              pgy_error *err)
{
    const pgy_tensor *first = s->items[0].value;
    const bool stacked = is_stacked(c->node);
    *total = 0;
    for (size_t i = 0; i < s->count; i++) {
        const pgy_tensor *t = s->items[i].value;
        bool fits = t && pgy_tensor_dtype(t) == pgy_tensor_dtype(first) &&
                    pgy_tensor_rank(t) == pgy_tensor_rank(first);
        for (size_t d = 0; fits && d < pgy_tensor_rank(t); d++)
            if (stacked || d != axis) fits = pgy_tensor_shape(t)[d] == pgy_tensor_shape(first)[d];
        const int64_t length = fits && !stacked ? pgy_tensor_shape(t)[axis] : 1;
        if (!fits || length > INT64_MAX - *total)
            return op_error(c->node, err, PGY_E_SHAPE,
                            "item %zu has another type or shape than item 0", i);
        *total += length;
    }
    return PGY_OK;
}

static pgy_status join(op_eval *c, const op_sequence *s, size_t axis, pgy_error *err)
{
    pgy_tensor *y = c->outputs[0].value;
    const size_t rank = pgy_tensor_rank(y), bytes = move_size(pgy_tensor_dtype(y));
    move_box box, whole;
    move_box_init(&whole, rank, pgy_tensor_shape(y));
    char *to = pgy_tensor_data(y);
    for (size_t i = 0; i < s->count; i++) {
        const pgy_tensor *t = s->items[i].value;
        box = whole;
        box.size[axis] = is_stacked(c->node) ? 1 : (size_t)pgy_tensor_shape(t)[axis];
        ptrdiff_t step = 1;
        for (size_t d = rank; d-- > 0;) {
            box.from[d] = step;
            step *= (ptrdiff_t)box.size[d];
        }
        move_copy(to, pgy_tensor_data(t), bytes, &box);
        to += box.size[axis] * (size_t)whole.to[axis] * bytes;
    }
    return move_own(y, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    op_sequence *s;
    size_t axis;
    int64_t shape[PGY_MAX_RANK + 1], total;
    const bool stacked = is_stacked(c->node);
    pgy_status st = sequence_input(&s, c, 0, err);
    if (st) return st;
    if (!s->count || !s->items[0].value)
        return op_error(c->node, err, PGY_E_ARGUMENT, "the sequence is empty");
    const pgy_tensor *first = s->items[0].value;
    const size_t rank = pgy_tensor_rank(first) + stacked;
    st = rule_check_rank(c->node, (int64_t)rank, err);
    if (!st) st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", 0), (int32_t)rank, err);
    if (!st) st = check_items(c, s, axis, &total, err);
    if (st) return st;
    for (size_t d = 0, from = 0; d < rank; d++) {
        shape[d] = d == axis ? total : pgy_tensor_shape(first)[from];
        from += d != axis || !stacked;
    }
    st = op_output(c, 0, s->items[0].dtype, rank, shape, err);
    return st ? st : join(c, s, axis, err);
}

const op_def OP_concat_from_sequence[] = {
    SEQUENCE_ROW("ConcatFromSequence", 11, 1, 1, 0, ATTRS, infer, eval),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* SplitToSequence: pieces along an axis as a sequence. Pieces have length 1 (without `split`;
 * keepdims = 0 then drops the axis), one given length (the last may be shorter), or given
 * lengths. */
#include <string.h>

#include "ops/class_sequence.h"
#include "ops/move.h"

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, false, "0"},
    {"keepdims", OP_ATTR_INT, false, "1"},
    {0},
};

static bool drops_axis(const op_node *n, bool has_split)
{
    return !has_split && op_attr_int(n, "keepdims", 1) == 0;
}

/* Length of every piece, if all are equal. */
static dim piece_length(op_infer *c, dim size)
{
    const int64_t *split;
    size_t count;
    if (!op_has_input(c, 1)) return dim_const(1);
    const bool known = op_input_constants(c, 1, &split, &count) && count > 0;
    const bool given = c->inputs[1].rank == 1;
    bool same = known && split[0] >= 0;
    for (size_t i = 1; same && i < count; i++) same = split[i] == split[0];
    if (same && given) return dim_const(split[0]);
    if (same && split[0] > 0 && dim_is_const(size) && size.value % split[0] == 0)
        return dim_const(split[0]);
    return dim_unknown(c->dims, "the lengths of the pieces differ");
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    op_value element = *x;
    size_t axis;
    if (x->rank < 0) return sequence_set(c, 0, &element, err);
    pgy_status st = rule_check_rank(c->node, x->rank, err);
    if (!st) st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", 0), x->rank, err);
    if (st) return st;
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    dims[axis] = piece_length(c, dims[axis]);
    element.dims = dims;
    if (drops_axis(c->node, op_has_input(c, 1))) {
        element.rank--;
        for (size_t d = axis; d < (size_t)element.rank; d++) dims[d] = dims[d + 1];
    }
    return sequence_set(c, 0, &element, err);
}

typedef struct pieces {
    const int64_t *given; /* one length for each piece, or NULL */
    size_t axis, size, count, length;
} pieces;

static pgy_status pieces_init(pieces *p, const op_eval *c, pgy_error *err)
{
    size_t count, total = 0;
    const int64_t *given;
    p->length = 1;
    p->count = p->size;
    if (!op_has_value(c, 1)) return PGY_OK;
    pgy_status st = op_eval_ints(c, 1, &given, &count, err);
    if (st) return st;
    for (size_t i = 0; i < count; i++) {
        if (given[i] < 0 || (uint64_t)given[i] > p->size - total)
            return op_error(c->node, err, PGY_E_SHAPE,
                            "length %zu is %lld, which does not fit an axis of %zu elements", i,
                            (long long)given[i], p->size);
        total += pgy_tensor_rank(c->inputs[1].value) ? (size_t)given[i] : 0;
    }
    if (pgy_tensor_rank(c->inputs[1].value) == 0) {
        if (!given[0])
            return op_error(c->node, err, PGY_E_ARGUMENT, "the length of the pieces must not be 0");
        p->length = (size_t)given[0];
        p->count = (p->size + p->length - 1) / p->length;
        return PGY_OK;
    }
    if (total != p->size)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the lengths add up to %zu, but the axis has %zu elements", total, p->size);
    p->given = given;
    p->count = count;
    return PGY_OK;
}

static pgy_status cut(op_tensor *out, const op_tensor *from, size_t axis, size_t at, size_t length,
                      bool drop, pgy_error *err)
{
    const pgy_tensor *x = from->value;
    const size_t rank = pgy_tensor_rank(x), bytes = move_size(pgy_tensor_dtype(x));
    int64_t shape[PGY_MAX_RANK];
    move_box box, whole;
    move_box_init(&whole, rank, pgy_tensor_shape(x));
    memcpy(shape, pgy_tensor_shape(x), rank * sizeof *shape);
    shape[axis] = (int64_t)length;
    move_box_init(&box, rank, shape);
    memcpy(box.from, whole.from, sizeof box.from);
    for (size_t d = axis; drop && d + 1 < rank; d++) shape[d] = shape[d + 1];
    pgy_status st = pgy_tensor_create(&out->value, pgy_tensor_dtype(x), rank - drop, shape, err);
    if (st) return st;
    out->dtype = from->dtype;
    move_copy(pgy_tensor_data(out->value),
              (const char *)pgy_tensor_data(x) + at * (size_t)whole.from[axis] * bytes, bytes,
              &box);
    return move_own(out->value, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x;
    pieces p = {0};
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st)
        st = op_axis(&p.axis, c->node, op_attr_int(c->node, "axis", 0), (int32_t)pgy_tensor_rank(x),
                     err);
    if (st) return st;
    p.size = (size_t)pgy_tensor_shape(x)[p.axis];
    st = pieces_init(&p, c, err);
    if (st) return st;
    op_sequence *made = op_sequence_create(p.count);
    if (!made) return rule_no_memory(c->node, err);
    const bool drop = drops_axis(c->node, op_has_value(c, 1));
    for (size_t i = 0, at = 0; !st && i < p.count; i++) {
        const size_t left = p.size - at;
        const size_t length = p.given ? (size_t)p.given[i] : p.length < left ? p.length : left;
        st = cut(&made->items[i], &c->inputs[0], p.axis, at, length, drop, err);
        at += length;
    }
    if (!st)
        sequence_output(c, 0, made);
    else
        op_sequence_release(made);
    return st;
}

const op_def OP_split_to_sequence[] = {
    SEQUENCE_ROW("SplitToSequence", 11, 1, 2, 0, ATTRS, infer, eval),
    SEQUENCE_ROW("SplitToSequence", 24, 1, 2, 0, ATTRS, infer, eval),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Split: pieces along an axis, of given lengths or as equal as the version allows (since 18 the
 * last may be shorter). */
#include "ops/move.h"
#include "ops/rule.h"

static const op_attr_def ATTRS_2[] = {
    {"axis", OP_ATTR_INT, false, "0"},
    {"split", OP_ATTR_INTS, false, NULL},
    {0},
};
static const op_attr_def ATTRS_13[] = {
    {"axis", OP_ATTR_INT, false, "0"},
    {0},
};
static const op_attr_def ATTRS_18[] = {
    {"axis", OP_ATTR_INT, false, "0"},
    {"num_outputs", OP_ATTR_INT, false, NULL, NULL, "1.."},
    {0},
};

static pgy_status check_lengths(op_infer *c, const dim *lengths, size_t count, dim size,
                                pgy_error *err)
{
    const op_node *n = c->node;
    dim total = dim_const(0);
    if (count != n->output_count)
        return op_error(n, err, PGY_E_SHAPE, "input 1 (split) has %zu lengths for %zu outputs",
                        count, n->output_count);
    for (size_t i = 0; i < count; i++) {
        if (rule_is_negative(lengths[i]))
            return op_error(n, err, PGY_E_SHAPE, "length %zu is %lld, but must not be negative", i,
                            (long long)lengths[i].value);
        if (dim_is_const(lengths[i]) && dim_is_const(size) && lengths[i].value > size.value)
            return op_error(n, err, PGY_E_SHAPE,
                            "length %zu is %lld, but the axis has only %lld elements", i,
                            (long long)lengths[i].value, (long long)size.value);
        total = dim_add(c->dims, total, lengths[i]);
    }
    if (dim_is_const(total) && dim_is_const(size) && total.value != size.value)
        return op_error(n, err, PGY_E_SHAPE,
                        "the lengths add up to %lld, but the axis has %lld elements",
                        (long long)total.value, (long long)size.value);
    return PGY_OK;
}

/* Divides `size` into equal lengths; since version 18 the last piece may be shorter. */
static pgy_status equal_lengths(op_infer *c, dim *lengths, dim size, pgy_error *err)
{
    const op_node *n = c->node;
    const int64_t count = (int64_t)n->output_count;
    const int64_t wanted = op_attr_int(n, "num_outputs", count);
    if (n->def->since >= 18 && !op_attr_find(n, "num_outputs"))
        return op_error(n, err, PGY_E_FORMAT,
                        "the node has neither the input 'split' nor the attribute 'num_outputs'");
    if (wanted != count)
        return op_error(n, err, PGY_E_SHAPE,
                        "attribute num_outputs is %lld, but the node has %lld outputs",
                        (long long)wanted, (long long)count);
    if (n->def->since < 18 && dim_is_const(size) && size.value % count)
        return op_error(
            n, err, PGY_E_SHAPE,
            "the axis has %lld elements, which cannot be divided into %lld equal outputs",
            (long long)size.value, (long long)count);
    const dim piece = n->def->since < 18 ? dim_div_floor(c->dims, size, dim_const(count))
                                         : dim_div_ceil(c->dims, size, dim_const(count));
    dim left = size;
    for (int64_t i = 0; i < count; i++) {
        const bool last = i == count - 1 && n->def->since >= 18;
        lengths[i] = last ? left : dim_min(c->dims, piece, left);
        if (n->def->since < 18) lengths[i] = piece;
        left = dim_sub(c->dims, left, lengths[i]);
    }
    return PGY_OK;
}

static void set_pieces(op_infer *c, size_t axis, const dim *lengths)
{
    const op_value *x = &c->inputs[0];
    const dim *values;
    size_t count, at = 0;
    const bool known = rule_values(c, 0, &values, &count);
    for (size_t i = 0; i < c->node->output_count; i++) {
        dim *dims = rule_copy_dims(c, x);
        if (!dims) return;
        dims[axis] =
            lengths ? lengths[i] : dim_unknown(c->dims, "the lengths are computed at run time");
        op_set_output(c, i, x->dtype, x->rank, dims);
        if (!known || !dim_is_const(dims[axis]) || (uint64_t)dims[axis].value > count - at)
            continue;
        rule_set_elements(c, i, values + at, (size_t)dims[axis].value);
        at += (size_t)dims[axis].value;
    }
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const dim *given;
    size_t count, axis;
    if (x->rank < 0) {
        for (size_t i = 0; i < c->node->output_count; i++)
            op_set_unknown(c, i, x->dtype, -1, "the shape of the input is not known");
        return PGY_OK;
    }
    pgy_status st = rule_check_rank(c->node, x->rank, err);
    if (!st) st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", 0), x->rank, err);
    if (st) return st;
    const rule_source source = rule_list(c, "split", 1, &given, &count);
    dim *lengths = op_dims(c, c->node->output_count + 1);
    if (!lengths) return rule_no_memory(c->node, err);
    if (source == RULE_KNOWN) {
        st = check_lengths(c, given, count, x->dims[axis], err);
        for (size_t i = 0; !st && i < count; i++) lengths[i] = given[i];
    } else if (source == RULE_ABSENT) {
        st = equal_lengths(c, lengths, x->dims[axis], err);
    }
    if (!st) set_pieces(c, axis, source == RULE_UNKNOWN ? NULL : lengths);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y;
    size_t axis;
    ptrdiff_t strides[PGY_MAX_RANK];
    pgy_status st = rule_input(c, 0, &x, err);
    const size_t rank = st ? 0 : pgy_tensor_rank(x);
    if (!st) st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", 0), (int32_t)rank, err);
    if (st) return st;
    move_strides(strides, rank, pgy_tensor_shape(x));
    const size_t bytes = move_size(pgy_tensor_dtype(x));
    const char *from = pgy_tensor_data(x);
    for (size_t i = 0; i < c->node->output_count; i++) {
        move_box box;
        st = rule_output(c, i, &y, err);
        if (st) return st;
        move_box_init(&box, rank, pgy_tensor_shape(y));
        for (size_t d = 0; d < rank; d++) box.from[d] = strides[d];
        move_copy(pgy_tensor_data(y), from, bytes, &box);
        from += box.size[axis] * (size_t)strides[axis] * bytes;
        st = move_own(y, err);
        if (st) return st;
    }
    return PGY_OK;
}

#define ROW(version, inputs_most, definitions)                                           \
    {                                                                                    \
        .name = "Split", .domain = "", .since = version, .min_inputs = 1,                \
        .max_inputs = inputs_most, .min_outputs = 1, .max_outputs = 255,                 \
        .flags = OP_VARIADIC_OUTPUTS, .attrs = definitions, .types = "", .infer = infer, \
        .eval = eval, .flops = rule_no_flops                                             \
    }

const op_def OP_split[] = {
    ROW(2, 1, ATTRS_2),
    ROW(13, 2, ATTRS_13),
    ROW(18, 2, ATTRS_18),
    {0},
};

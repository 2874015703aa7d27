/* SPDX-License-Identifier: Apache-2.0 */
/* Pad: adds elements before and after each axis (negative: removes them): a constant, the edge, a
 * mirror image or, since version 19, a periodic continuation. Pads are an attribute in version 2,
 * an input later; since version 18 they may cover chosen axes only. */
#include <string.h>

#include "base/alloc.h"
#include "ops/move.h"
#include "ops/rule.h"

static const op_attr_def ATTRS_2[] = {
    {"pads", OP_ATTR_INTS, true, NULL},
    {"mode", OP_ATTR_STRING, false, "constant", "constant reflect edge wrap"},
    {"value", OP_ATTR_FLOAT, false, "0.0"},
    {0},
};
static const op_attr_def ATTRS_11[] = {
    {"mode", OP_ATTR_STRING, false, "constant", "constant reflect edge wrap"},
    {0},
};

static pgy_status spread_axes(size_t *axes, const op_node *n, const int64_t *given, size_t count,
                              size_t pads, size_t rank, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < rank; i++) axes[i] = i;
    if (given) st = rule_axes(axes, n, given, count, (int32_t)rank, err);
    if (st) return st;
    if (!given) count = rank;
    if (pads == 2 * count) return PGY_OK;
    return op_error(n, err, PGY_E_SHAPE,
                    "there are %zu pads for %zu axes; there must be two for each axis", pads,
                    count);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const bool attrs = c->node->def->since < 11;
    const dim *pads, *axes;
    size_t count, axis_count, which[PGY_MAX_RANK];
    int64_t given[PGY_MAX_RANK];
    const rule_source p = rule_list(c, attrs ? "pads" : NULL, 1, &pads, &count);
    const rule_source a = rule_list(c, NULL, 3, &axes, &axis_count);
    pgy_status st = rule_check_rank(c->node, x->rank, err);
    if (st) return st;
    if (x->rank < 0 || p != RULE_KNOWN || a == RULE_UNKNOWN) {
        op_set_unknown(c, 0, x->dtype, x->rank, "the pads are computed at run time");
        return PGY_OK;
    }
    for (size_t i = 0; i < axis_count && i < PGY_MAX_RANK; i++)
        given[i] = dim_is_const(axes[i]) ? axes[i].value : INT64_MAX;
    if (axis_count > PGY_MAX_RANK) return rule_check_rank(c->node, (int64_t)axis_count, err);
    st = spread_axes(which, c->node, a == RULE_KNOWN ? given : NULL, axis_count, count,
                     (size_t)x->rank, err);
    if (st) return st;
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t i = 0; i < count / 2; i++) {
        dim *d = &dims[which[i]];
        *d = dim_add(c->dims, *d, dim_add(c->dims, pads[i], pads[i + count / 2]));
        if (rule_is_negative(*d))
            return op_error(c->node, err, PGY_E_SHAPE,
                            "axis %zu of the output would have %lld elements", which[i],
                            (long long)d->value);
    }
    op_set_output(c, 0, x->dtype, x->rank, dims);
    return PGY_OK;
}

typedef enum pad_mode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP } pad_mode;

static pgy_status mode_of(pad_mode *out, const op_node *n, pgy_error *err)
{
    static const char *const NAMES[] = {"constant", "edge", "reflect", "wrap"};
    const size_t known = n->def->since < 18 ? 3 : 4;
    for (size_t i = 0; i < known; i++) {
        if (!op_attr_is(n, "mode", NAMES[i], "constant")) continue;
        *out = (pad_mode)i;
        return PGY_OK;
    }
    return op_error(n, err, PGY_E_ARGUMENT,
                    "attribute mode has a value that opset %lld does not have",
                    (long long)n->opset);
}

/* Source position in [0, size) of position i, counted from the first kept element. */
static size_t source(int64_t i, int64_t size, pad_mode mode)
{
    if (mode == PAD_EDGE || size == 1) return (size_t)(i < 0 ? 0 : i >= size ? size - 1 : i);
    const int64_t period = mode == PAD_REFLECT ? 2 * (size - 1) : size;
    i %= period;
    if (i < 0) i += period;
    return (size_t)(i < size ? i : period - i);
}

/* How one axis is padded: input elements [first, first + size) are kept and begin at index `before`
 * of the output. */
typedef struct pad_axis {
    int64_t before, first, size;
} pad_axis;

/* Fills the rest of the output: `place` maps output to input positions per axis. */
static void fill_mapped(pgy_tensor *y, const pgy_tensor *x, size_t *const *place)
{
    const size_t rank = pgy_tensor_rank(y), bytes = move_size(pgy_tensor_dtype(y)),
                 count = pgy_tensor_count(y);
    const int64_t *shape = pgy_tensor_shape(y);
    ptrdiff_t strides[PGY_MAX_RANK];
    size_t position[PGY_MAX_RANK] = {0};
    char *to = pgy_tensor_data(y);
    const char *from = pgy_tensor_data(x);
    move_strides(strides, rank, pgy_tensor_shape(x));
    const size_t row = (size_t)shape[rank - 1];
    for (size_t i = 0; i < count; i += row) {
        size_t base = 0;
        for (size_t d = 0; d + 1 < rank; d++) base += place[d][position[d]] * (size_t)strides[d];
        for (size_t k = 0; k < row; k++)
            memcpy(to + (i + k) * bytes, from + (base + place[rank - 1][k]) * bytes, bytes);
        for (size_t d = rank - 1; d-- > 0;) {
            if (++position[d] < (size_t)shape[d]) break;
            position[d] = 0;
        }
    }
}

static pgy_status pad_mapped(const op_eval *c, pgy_tensor *y, const pgy_tensor *x,
                             const pad_axis *axes, pad_mode mode, pgy_error *err)
{
    const size_t rank = pgy_tensor_rank(y);
    const int64_t *shape = pgy_tensor_shape(y);
    size_t *place[PGY_MAX_RANK] = {NULL}, total = 0;
    for (size_t d = 0; d < rank; d++) {
        if (axes[d].size == 0)
            return op_error(c->node, err, PGY_E_SHAPE,
                            "axis %zu is empty, so this mode has no elements to pad it with", d);
        total += (size_t)shape[d];
    }
    size_t *memory = mem_alloc((total + 1) * sizeof *memory);
    if (!memory) return rule_no_memory(c->node, err);
    size_t *at = memory;
    for (size_t d = 0; d < rank; d++) {
        place[d] = at;
        for (int64_t i = 0; i < shape[d]; i++)
            *at++ = (size_t)axes[d].first + source(i - axes[d].before, axes[d].size, mode);
    }
    fill_mapped(y, x, place);
    mem_free(memory);
    return PGY_OK;
}

static pgy_status fill_constant(const op_eval *c, pgy_tensor *y, pgy_error *err)
{
    const void *value = NULL;
    const double number = op_attr_float(c->node, "value", 0);
    if (pgy_tensor_dtype(y) == PGY_F64) value = &number;
    if (op_has_value(c, 2)) {
        pgy_tensor *t;
        pgy_status st = rule_input(c, 2, &t, err);
        if (st) return st;
        if (pgy_tensor_dtype(t) != pgy_tensor_dtype(y) || pgy_tensor_count(t) != 1)
            return op_error(c->node, err, PGY_E_TYPE,
                            "the padding value must be one element of the input's type");
        value = pgy_tensor_data(t);
    }
    if (value)
        move_fill(pgy_tensor_data(y), value, move_size(pgy_tensor_dtype(y)), pgy_tensor_count(y));
    return PGY_OK; /* a padding of zeros needs no writes: the executor zeroed the output */
}

static pgy_status pad_constant(const op_eval *c, pgy_tensor *y, const pgy_tensor *x,
                               const pad_axis *axes, pgy_error *err)
{
    move_box box, from;
    const size_t bytes = move_size(pgy_tensor_dtype(x));
    char *to = pgy_tensor_data(y);
    const char *kept = pgy_tensor_data(x);
    pgy_status st = fill_constant(c, y, err);
    if (st) return st;
    move_box_init(&box, pgy_tensor_rank(y), pgy_tensor_shape(y));
    move_box_init(&from, pgy_tensor_rank(x), pgy_tensor_shape(x));
    for (size_t d = 0; d < box.rank; d++) {
        if (axes[d].size == 0) return PGY_OK;
        box.size[d] = (size_t)axes[d].size;
        box.from[d] = from.from[d];
        to += axes[d].before * box.to[d] * (ptrdiff_t)bytes;
        kept += axes[d].first * box.from[d] * (ptrdiff_t)bytes;
    }
    move_copy(to, kept, bytes, &box);
    return PGY_OK;
}

#define LIMIT ((int64_t)1 << 60)

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y;
    const int64_t *pads, *given;
    size_t count, axis_count, which[PGY_MAX_RANK];
    pad_axis axes[PGY_MAX_RANK];
    pad_mode mode = PAD_CONSTANT;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st)
        st = rule_eval_list(c, c->node->def->since < 11 ? "pads" : NULL, 1, &pads, &count, err);
    if (!st) st = rule_eval_list(c, NULL, 3, &given, &axis_count, err);
    if (!st) st = spread_axes(which, c->node, given, axis_count, count, pgy_tensor_rank(x), err);
    if (!st) st = mode_of(&mode, c->node, err);
    if (st) return st;
    for (size_t d = 0; d < pgy_tensor_rank(x); d++)
        axes[d] = (pad_axis){0, 0, pgy_tensor_shape(x)[d]};
    for (size_t i = 0; i < count / 2; i++) {
        pad_axis *a = &axes[which[i]];
        const int64_t before = pads[i], after = pads[i + count / 2];
        if (before < -LIMIT || after < -LIMIT || before > LIMIT || after > LIMIT)
            return op_error(c->node, err, PGY_E_SHAPE, "pads %lld and %lld are out of range",
                            (long long)before, (long long)after);
        a->before = before > 0 ? before : 0;
        a->first = before < 0 ? -before : 0;
        a->size -= a->first + (after < 0 ? -after : 0);
        if (a->size < 0) a->size = 0; /* no element is kept: the output is only padding */
    }
    if (!pgy_tensor_count(y)) return PGY_OK;
    const bool constant = mode == PAD_CONSTANT || pgy_tensor_rank(y) == 0;
    st = constant ? pad_constant(c, y, x, axes, err) : pad_mapped(c, y, x, axes, mode, err);
    return st ? st : move_own(y, err);
}

const op_def OP_pad[] = {
    RULE_ROW("Pad", 2, 1, 1, ATTRS_2, infer, eval),
    RULE_ROW("Pad", 11, 2, 3, ATTRS_11, infer, eval),
    RULE_ROW("Pad", 18, 2, 4, ATTRS_11, infer, eval),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Reshape: the same elements in another shape. 0 copies a dimension (unless allowzero); one -1 is
 * inferred from the rest. Equal dims on both sides cancel before the division, so symbolic results
 * stay simple. */
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {
    {"allowzero", OP_ATTR_INT, false, "0"},
    {0},
};

static bool is_value(dim d, int64_t v)
{
    return dim_is_const(d) && d.value == v;
}

/* Replaces zeros by copied dims and finds the -1. */
static pgy_status resolve(op_infer *c, dim *dims, size_t rank, int32_t *open, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const bool copies = !op_attr_int(c->node, "allowzero", 0);
    bool has_zero = false;
    *open = -1;
    for (size_t i = 0; i < rank; i++) {
        if (dim_is_unknown(dims[i])) {
            /* The size may turn out as 0, which copies the input's dim: the bound covers both. */
            const bool has = x->rank > (int32_t)i;
            const dim most = !copies ? dims[i]
                             : has   ? dim_max(c->dims, dims[i], x->dims[i])
                                     : dim_const(INT64_MAX);
            dims[i] = dim_unknown_upto(c->dims, "the new shape is computed at run time", most);
        } else if (is_value(dims[i], -1)) {
            if (*open >= 0)
                return op_error(c->node, err, PGY_E_SHAPE, "the shape has more than one -1");
            *open = (int32_t)i;
        } else if (rule_is_negative(dims[i])) {
            return op_error(c->node, err, PGY_E_SHAPE,
                            "element %zu of the shape is %lld, but must be -1 or more", i,
                            (long long)dims[i].value);
        } else if (is_value(dims[i], 0) && copies) {
            if (x->rank >= 0 && (int64_t)i >= x->rank)
                return op_error(c->node, err, PGY_E_SHAPE,
                                "element %zu of the shape is 0, which copies that dimension of the "
                                "input, but the input has rank %d",
                                i, x->rank);
            dims[i] = x->rank >= 0
                          ? x->dims[i]
                          : dim_unknown(c->dims, "it is copied from an input of unknown rank");
        } else if (is_value(dims[i], 0)) {
            has_zero = true;
        }
    }
    if (has_zero && *open >= 0)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "with allowzero the shape cannot have both 0 and -1");
    return PGY_OK;
}

/* Products of the dims on both sides after equal dims cancel; zeros cancel only to infer a -1. */
static void cancel(op_infer *c, const dim *dims, size_t rank, int32_t open, dim *above, dim *below)
{
    const op_value *x = &c->inputs[0];
    bool used[PGY_MAX_RANK] = {false};
    *above = *below = dim_const(1);
    for (size_t i = 0; i < rank; i++) {
        if ((int32_t)i == open) continue;
        int32_t k = 0;
        while (k < x->rank &&
               (used[k] || (open < 0 && is_value(dims[i], 0)) || !dim_equal(x->dims[k], dims[i])))
            k++;
        if (k < x->rank)
            used[k] = true;
        else
            *below = dim_mul(c->dims, *below, dims[i]);
    }
    for (int32_t k = 0; k < x->rank; k++)
        if (!used[k]) *above = dim_mul(c->dims, *above, x->dims[k]);
}

static pgy_status mismatch(op_infer *c, const dim *dims, size_t rank, pgy_error *err)
{
    str text = {0};
    op_print_shape(&text, c->inputs[0].rank, c->inputs[0].dims);
    str_append(&text, " cannot be reshaped to ");
    op_print_shape(&text, (int32_t)rank, dims);
    pgy_status st = op_error(c->node, err, PGY_E_SHAPE, "%s", str_text(&text));
    str_deinit(&text);
    return st;
}

static pgy_status fill_open(op_infer *c, dim *dims, size_t rank, int32_t open, pgy_error *err)
{
    dim above, below;
    if (c->inputs[0].rank < 0) {
        if (open >= 0) dims[open] = dim_unknown(c->dims, "it is the rest of an unknown shape");
        return PGY_OK;
    }
    cancel(c, dims, rank, open, &above, &below);
    if (open < 0) return dim_differ(above, below) ? mismatch(c, dims, rank, err) : PGY_OK;
    if (dim_is_const(above) && dim_is_const(below) &&
        (below.value == 0 || above.value % below.value))
        return mismatch(c, dims, rank, err);
    dims[open] = dim_div_floor(c->dims, above, below);
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0], *shape = &c->inputs[1];
    const dim *wanted;
    size_t rank;
    int32_t open;
    pgy_status st = rule_check_rank(c->node, x->rank, err);
    if (st) return st;
    if (shape->rank >= 0 && shape->rank != 1)
        return op_error(c->node, err, PGY_E_SHAPE, "the shape must have rank 1, but has rank %d",
                        (int)shape->rank);
    if (!rule_values(c, 1, &wanted, &rank)) {
        const bool known = shape->rank == 1 && dim_is_const(shape->dims[0]);
        if (known) st = rule_check_rank(c->node, shape->dims[0].value, err);
        if (!st)
            op_set_unknown(c, 0, x->dtype, known ? (int32_t)shape->dims[0].value : -1,
                           "the new shape is computed at run time");
        return st;
    }
    st = rule_check_rank(c->node, (int64_t)rank, err);
    if (st) return st;
    dim *dims = op_dims(c, rank + 1);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t i = 0; i < rank; i++) dims[i] = wanted[i];
    st = resolve(c, dims, rank, &open, err);
    if (!st) st = fill_open(c, dims, rank, open, err);
    if (st) return st;
    op_set_output(c, 0, x->dtype, (int32_t)rank, dims);
    rule_same_elements(c);
    return PGY_OK;
}

const op_def OP_reshape[] = {
    RULE_ROW_FILLS("Reshape", 5, 2, 2, NULL, infer, rule_forward),
    RULE_ROW_FILLS("Reshape", 14, 2, 2, ATTRS, infer, rule_forward),
    {0},
};

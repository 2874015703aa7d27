/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax and ArgMin. Elements are compared by order-preserving 64-bit keys, so the same code serves
 * all types; both operators return the index of a NaN if there is one. */
#include "ops/class_arg.h"

#include "ops/class_key.h"
#include "ops/class_rows.h"

const op_attr_def arg_attrs_1[] = {
    {"axis", OP_ATTR_INT, false, "0"},
    {"keepdims", OP_ATTR_INT, false, "1", NULL, "0..1"},
    {NULL},
};

const op_attr_def arg_attrs_12[] = {
    {"axis", OP_ATTR_INT, false, "0"},
    {"keepdims", OP_ATTR_INT, false, "1", NULL, "0..1"},
    {"select_last_index", OP_ATTR_INT, false, "0"},
    {NULL},
};

pgy_status arg_infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    bool keep = op_attr_int(c->node, "keepdims", 1) != 0;
    size_t axis = 0;
    int32_t rank = 0;
    if (x->rank < 0) {
        op_set_unknown(c, 0, PGY_I64, -1, "the input's shape is not known");
        return PGY_OK;
    }
    pgy_status st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", 0), x->rank, err);
    if (st) return st;
    if (dim_is_const(x->dims[axis]) && x->dims[axis].value == 0)
        return op_error(c->node, err, PGY_E_SHAPE, "axis %zu is empty", axis);
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    for (int32_t i = 0; i < x->rank; i++)
        if ((size_t)i != axis)
            dims[rank++] = x->dims[i];
        else if (keep)
            dims[rank++] = dim_const(1);
    op_set_output(c, 0, PGY_I64, rank, dims);
    return PGY_OK;
}

double arg_flops(const op_infer *c)
{
    return dims_product(&c->inputs[0]);
}

typedef struct search {
    const op_eval *c;
    axis_view view;
    pgy_dtype dtype;
    bool largest, last;
} search;

static void run(size_t begin, size_t end, void *user)
{
    const search *s = user;
    const void *x = in_data(s->c, 0);
    for (size_t i = begin; i < end; i++) {
        size_t at = i / s->view.inner * s->view.length * s->view.inner + i % s->view.inner,
               best = 0;
        uint64_t top = key_of(s->dtype, x, at, s->largest);
        for (size_t j = 1; j < s->view.length; j++) {
            uint64_t key = key_of(s->dtype, x, at + j * s->view.inner, s->largest);
            if (key < top || (s->last && key == top)) {
                top = key;
                best = j;
            }
        }
        out_i64(s->c, 0)[i] = (int64_t)best;
    }
}

pgy_status arg_eval(op_eval *c, pgy_error *err)
{
    size_t axis = 0, rank = in_rank(c, 0);
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", 0), (int32_t)rank, err);
    if (st) return st;
    search s = {c, axis_view_of(in_shape(c, 0), rank, axis, axis + 1),
                pgy_tensor_dtype(c->inputs[0].value), c->node->def->user != 0,
                op_attr_int(c->node, "select_last_index", 0) != 0};
    rows_run(s.view.outer * s.view.inner, s.view.length * 4, run, &s);
    return PGY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNormalization: rows over the axes from `axis` on, scaled and shifted by tensors that
 * broadcast to the input. Mean and inverse standard deviation are optional outputs of the stash
 * type. */
#include <math.h>

#include "ops/class_norm.h"

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, false, "-1"},
    {"epsilon", OP_ATTR_FLOAT, false, "1e-5"},
    {"stash_type", OP_ATTR_INT, false, "1"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    size_t axis = 0;
    op_set_like(c, 0, 0);
    pgy_dtype stash = pgy_dtype_from_onnx((int)op_attr_int(c->node, "stash_type", 1));
    if (!pgy_dtype_is_float(stash))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute stash_type is %lld, which is not a float type",
                        (long long)op_attr_int(c->node, "stash_type", 1));
    for (size_t i = 1; x->rank < 0 && i < c->node->output_count; i++)
        op_set_unknown(c, i, stash, -1, "the input's shape is not known");
    if (x->rank < 0) return PGY_OK;
    pgy_status st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", -1), x->rank, err);
    if (!st) st = norm_check(c, 1, err);
    if (!st) st = norm_check(c, 2, err);
    if (st) return st;
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t i = axis; i < (size_t)x->rank; i++) dims[i] = dim_const(1);
    for (size_t i = 1; i < c->node->output_count; i++) op_set_output(c, i, stash, x->rank, dims);
    return PGY_OK;
}

typedef struct layer {
    const op_eval *c;
    size_t length, rank;
    size_t scale[PGY_MAX_RANK], bias[PGY_MAX_RANK]; /* strides in elements; 0 on broadcast axes */
    double epsilon;
    bool plain; /* scale and bias have exactly the shape of a row */
} layer;

static size_t offset_of(const layer *l, const size_t *strides, size_t index)
{
    const int64_t *shape = in_shape(l->c, 0);
    size_t offset = 0;
    for (size_t i = l->rank; i-- > 0; index /= (size_t)shape[i])
        offset += index % (size_t)shape[i] * strides[i];
    return offset;
}

static void run(size_t begin, size_t end, void *user)
{
    const layer *l = user;
    const double *scale = in_f64(l->c, 1), *bias = in_f64(l->c, 2);
    for (size_t r = begin; r < end; r++) {
        const double *x = in_f64(l->c, 0) + r * l->length;
        double *y = out_f64(l->c, 0) + r * l->length;
        norm_stats s = norm_of(x, l->length);
        double factor = 1 / sqrt(s.variance + l->epsilon);
        if (out_f64(l->c, 1)) out_f64(l->c, 1)[r] = s.mean;
        if (out_f64(l->c, 2)) out_f64(l->c, 2)[r] = factor;
        for (size_t j = 0; j < l->length; j++) {
            size_t at = r * l->length + j;
            double v = (x[j] - s.mean) * factor * scale[l->plain ? j : offset_of(l, l->scale, at)];
            y[j] = bias ? v + bias[l->plain ? j : offset_of(l, l->bias, at)] : v;
        }
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    size_t axis = 0, rank = in_rank(c, 0);
    pgy_status st = inputs_check(c, "FFf", err);
    if (!st) st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", -1), (int32_t)rank, err);
    if (st) return st;
    axis_view v = axis_view_of(in_shape(c, 0), rank, axis, rank);
    layer l = {.c = c,
               .length = v.length,
               .rank = rank,
               .epsilon = op_attr_float(c->node, "epsilon", 1e-5)};
    st = norm_broadcast(l.scale, c, 1, in_shape(c, 0), rank, err);
    if (!st && in_data(c, 2)) st = norm_broadcast(l.bias, c, 2, in_shape(c, 0), rank, err);
    if (st) return st;
    l.plain = in_count(c, 1) == v.length && in_rank(c, 1) <= rank - axis &&
              (!in_data(c, 2) || (in_count(c, 2) == v.length && in_rank(c, 2) <= rank - axis));
    rows_run(v.outer, v.length * 4, run, &l);
    return PGY_OK;
}

const op_def OP_layer_normalization[] = {
    {"LayerNormalization", "", 17, 0, 2, 3, 1, 3, OP_FILLS, ATTRS, TYPES_F4, infer, eval,
     norm_flops},
    {NULL},
};

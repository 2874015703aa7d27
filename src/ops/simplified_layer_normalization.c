/* SPDX-License-Identifier: Apache-2.0 */
/* SimplifiedLayerNormalization of ONNX Runtime, which keeps it in the default domain: rows over the
 * axes from `axis` on, divided by the root of their mean square and scaled; output 1 is the inverse
 * of this root. */
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
    size_t axis;
    op_set_output(c, 0, c->inputs[1].dtype, x->rank, x->dims);
    if (c->node->output_count > 1) op_set_output(c, 1, PGY_F32, -1, NULL);
    if (x->rank < 0) return PGY_OK;
    pgy_status st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", -1), x->rank, err);
    if (st) return st;
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t i = axis; i < (size_t)x->rank; i++) dims[i] = dim_const(1);
    output_set(c, 1, PGY_F32, x->rank, dims);
    return PGY_OK;
}

typedef struct layer {
    const op_eval *c;
    size_t length;
    double epsilon;
} layer;

static void run(size_t begin, size_t end, void *user)
{
    const layer *l = user;
    const double *scale = in_f64(l->c, 1);
    for (size_t r = begin; r < end; r++) {
        const double *x = in_f64(l->c, 0) + r * l->length;
        double *y = out_f64(l->c, 0) + r * l->length;
        const double square = row_sum_squares(x, l->length, 0) / (double)l->length;
        const double factor = 1 / sqrt(square + l->epsilon);
        for (size_t j = 0; j < l->length; j++) y[j] = x[j] * factor * scale[j];
        if (out_f64(l->c, 1)) out_f64(l->c, 1)[r] = factor;
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    size_t axis, rank = in_rank(c, 0);
    pgy_status st = inputs_check(c, "FF", err);
    if (!st) st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", -1), (int32_t)rank, err);
    if (st) return st;
    const axis_view v = axis_view_of(in_shape(c, 0), rank, axis, rank);
    if (in_count(c, 1) != v.length)
        return op_error(c->node, err, PGY_E_SHAPE, "the scale has %zu elements, but a row has %zu",
                        in_count(c, 1), v.length);
    layer l = {c, v.length, op_attr_float(c->node, "epsilon", 1e-5)};
    if (v.length) rows_run(v.outer, v.length * 4, run, &l);
    return PGY_OK;
}

const op_def OP_simplified_layer_normalization[] = {
    {"SimplifiedLayerNormalization", "", 1, 0, 2, 2, 1, 2, 0, ATTRS, TYPES_F4, infer, eval,
     norm_flops},
    {NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* RMSNormalization: rows over the axes from `axis` on, divided by the root of their mean square and
 * scaled. */
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
    size_t axis = 0;
    const op_value *x = &c->inputs[0];
    if (x->rank >= 0) {
        pgy_status st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", -1), x->rank, err);
        if (!st) st = norm_check(c, 1, err);
        if (st) return st;
    }
    op_set_output(c, 0, c->inputs[1].dtype, x->rank, x->dims);
    return PGY_OK;
}

typedef struct layer {
    const op_eval *c;
    size_t length, rank;
    size_t scale[PGY_MAX_RANK]; /* strides of the scale in elements; 0 on broadcast axes */
    double epsilon;
    bool plain; /* scale has exactly the shape of a row */
} layer;

static size_t scale_at(const layer *l, size_t index)
{
    const int64_t *shape = in_shape(l->c, 0);
    size_t offset = 0;
    for (size_t i = l->rank; i-- > 0; index /= (size_t)shape[i])
        offset += index % (size_t)shape[i] * l->scale[i];
    return offset;
}

static void run(size_t begin, size_t end, void *user)
{
    const layer *l = user;
    const double *scale = in_f64(l->c, 1);
    for (size_t r = begin; r < end; r++) {
        const double *x = in_f64(l->c, 0) + r * l->length;
        double *y = out_f64(l->c, 0) + r * l->length;
        double factor = 1 / sqrt(row_sum_squares(x, l->length, 0) / (double)l->length + l->epsilon);
        for (size_t j = 0; j < l->length; j++)
            y[j] = x[j] * factor * scale[l->plain ? j : scale_at(l, r * l->length + j)];
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    size_t axis = 0, rank = in_rank(c, 0);
    pgy_status st = inputs_check(c, "FF", err);
    if (!st) st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", -1), (int32_t)rank, err);
    if (st) return st;
    axis_view v = axis_view_of(in_shape(c, 0), rank, axis, rank);
    layer l = {.c = c,
               .length = v.length,
               .rank = rank,
               .epsilon = op_attr_float(c->node, "epsilon", 1e-5)};
    st = norm_broadcast(l.scale, c, 1, in_shape(c, 0), rank, err);
    if (st) return st;
    l.plain = in_count(c, 1) == v.length && in_rank(c, 1) <= rank - axis;
    rows_run(v.outer, v.length * 4, run, &l);
    return PGY_OK;
}

const op_def OP_rms_normalization[] = {
    {"RMSNormalization", "", 23, 0, 2, 2, 1, 1, 0, ATTRS, TYPES_F4, infer, eval, norm_flops},
    {NULL},
};

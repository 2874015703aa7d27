/* SPDX-License-Identifier: Apache-2.0 */
/* InstanceNormalization: every plane is brought to mean 0 and variance 1, then scaled and shifted
 * per channel. */
#include <math.h>

#include "ops/class_norm.h"

static const op_attr_def ATTRS[] = {{"epsilon", OP_ATTR_FLOAT, false, "1e-5"}, {NULL}};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_status st = rank_check(c, 0, 2, PGY_MAX_RANK, err);
    for (size_t i = 1; !st && i < 3; i++) {
        st = rank_check(c, i, 1, 1, err);
        if (!st && rank_known(c, 0))
            st = dim_check(c, i, 0, c->inputs[0].dims[1], "the number of channels", err);
    }
    if (st) return st;
    op_set_like(c, 0, 0);
    return PGY_OK;
}

typedef struct planes {
    const op_eval *c;
    size_t channels, plane;
    double epsilon;
} planes;

static void run(size_t begin, size_t end, void *user)
{
    const planes *p = user;
    for (size_t i = begin; i < end; i++) {
        const double *x = in_f64(p->c, 0) + i * p->plane;
        double *y = out_f64(p->c, 0) + i * p->plane;
        norm_stats s = norm_of(x, p->plane);
        double factor = in_f64(p->c, 1)[i % p->channels] / sqrt(s.variance + p->epsilon),
               bias = in_f64(p->c, 2)[i % p->channels];
        for (size_t j = 0; j < p->plane; j++) y[j] = (x[j] - s.mean) * factor + bias;
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "FFF", err);
    if (st) return st;
    axis_view v = axis_view_of(in_shape(c, 0), in_rank(c, 0), 1, 2);
    planes p = {c, v.length, v.inner, op_attr_float(c->node, "epsilon", 1e-5)};
    rows_run(v.outer * v.length, v.inner * 3, run, &p);
    return PGY_OK;
}

#define ROW(version, words)                                                                      \
    {                                                                                            \
        "InstanceNormalization", "", version, 0, 3, 3, 1, 1, OP_SAME_TYPES, ATTRS, words, infer, \
            eval, norm_flops                                                                     \
    }
const op_def OP_instance_normalization[] = {ROW(6, TYPES_F3), ROW(22, TYPES_F4), {NULL}};

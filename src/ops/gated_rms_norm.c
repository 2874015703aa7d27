/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft GatedRMSNorm: groups of elements of the last axis, as long as the scale, are
 * divided by the root of their mean square, scaled, and multiplied by an activation of the gate. */
#include <math.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"

enum { X, SCALE, GATE };

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, "silu", .choices = "silu swish sigmoid"},
    {"epsilon", OP_ATTR_FLOAT, false, "1e-5"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X], *scale = &c->inputs[SCALE];
    op_set_like(c, 0, X);
    pgy_status st = rank_check(c, X, 1, PGY_MAX_RANK, err);
    if (!st) st = rank_check(c, SCALE, 1, 1, err);
    if (!st && x->rank >= 0) st = rank_check(c, GATE, x->rank, x->rank, err);
    for (int32_t d = 0; !st && d < x->rank; d++)
        st = dim_check(c, GATE, (size_t)d, x->dims[d], "the same dimension of X", err);
    if (st || x->rank < 1 || scale->rank != 1) return st;
    const dim width = x->dims[x->rank - 1], group = scale->dims[0];
    if (dim_is_const(width) && dim_is_const(group) &&
        (group.value < 1 || width.value % group.value))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the last axis has %lld elements, which is not a multiple of the %lld "
                        "of the scale",
                        (long long)width.value, (long long)group.value);
    return PGY_OK;
}

typedef struct norm {
    const op_eval *c;
    size_t group;
    double epsilon;
    bool sigmoid;
} norm;

static void run(size_t begin, size_t end, void *user)
{
    const norm *n = user;
    const double *scale = in_f64(n->c, SCALE);
    for (size_t r = begin; r < end; r++) {
        const double *x = in_f64(n->c, X) + r * n->group, *gate = in_f64(n->c, GATE) + r * n->group;
        double *y = out_f64(n->c, 0) + r * n->group;
        const double square = row_sum_squares(x, n->group, 0) / (double)n->group;
        const double factor = 1 / sqrt(square + n->epsilon);
        for (size_t i = 0; i < n->group; i++) {
            const double opened = (n->sigmoid ? 1 : gate[i]) / (1 + exp(-gate[i]));
            y[i] = x[i] * factor * scale[i] * opened;
        }
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "FFF", err);
    if (st || !out_count(c, 0)) return st;
    norm n = {c, in_count(c, SCALE), op_attr_float(c->node, "epsilon", 1e-5),
              op_attr_is(c->node, "activation", "sigmoid", "silu")};
    rows_run(in_count(c, X) / n.group, 30 * n.group, run, &n);
    return PGY_OK;
}

#define TYPES "float16 float32 bfloat16"

const op_def OP_gated_rms_norm[] = {
    {"GatedRMSNorm", "com.microsoft", 1, 0, 3, 3, 1, 1, OP_SAME_TYPES, ATTRS, TYPES, infer, eval,
     NULL, .signature = "T = " TYPES "; X:T, scale:T, gate:T -> Y:T"},
    {NULL},
};

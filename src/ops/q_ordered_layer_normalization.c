/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QOrderedLayerNormalization: layer normalisation of the rows of scaled int8. */
#include <math.h>

#include "ops/class_ordered.h"
#include "ops/class_rows.h"

enum { X, X_SCALE, GAMMA, BETA, Y_SCALE };

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, false, "-1"},
    {"epsilon", OP_ATTR_FLOAT, false, "1e-05"},
    ORDERED_ATTR("order_X", false),
    ORDERED_ATTR("order_Y", false),
    {NULL},
};

static const ordered_rule ORDERS[] = {{"order_X", ORDERED_ROW}, {"order_Y", ORDERED_ROW}};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X];
    size_t axis;
    pgy_status st = ordered_check(c->node, ORDERS, sizeof ORDERS / sizeof *ORDERS, err);
    if (st) return st;
    op_set_like(c, 0, X);
    if (x->rank < 0) return PGY_OK;
    st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", -1), x->rank, err);
    if (!st && axis + 1 != (size_t)x->rank)
        st = op_error(c->node, err, PGY_E_UNSUPPORTED,
                      "axis is %lld, but the operator is defined for the last axis only",
                      (long long)op_attr_int(c->node, "axis", -1));
    for (size_t i = GAMMA; !st && i <= BETA; i++) {
        st = rank_check(c, i, 1, 1, err);
        if (!st && rank_known(c, i))
            st = dim_check(c, i, 0, x->dims[axis], "the columns of X", err);
    }
    return st;
}

typedef struct norm {
    const op_eval *c;
    size_t columns;
    double from, to, epsilon;
} norm;

static void run(size_t begin, size_t end, void *user)
{
    const norm *n = user;
    const op_eval *c = n->c;
    for (size_t row = begin; row < end; row++) {
        const int64_t *x = in_i64(c, X) + row * n->columns;
        int64_t sum = 0, squares = 0, *y = out_i64(c, 0) + row * n->columns;
        for (size_t i = 0; i < n->columns; i++) {
            sum += x[i];
            squares += x[i] * x[i];
        }
        const double count = (double)n->columns, mean = (double)sum / count;
        const double variance = ((double)squares - (double)sum * mean) / count;
        const double factor = n->from / sqrt(n->from * n->from * variance + n->epsilon);
        for (size_t i = 0; i < n->columns; i++) {
            double v = ((double)x[i] - mean) * factor * in_f64(c, GAMMA)[i];
            if (in_f64(c, BETA)) v += in_f64(c, BETA)[i];
            y[i] = ordered_byte(v / n->to);
        }
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    norm n = {.c = c, .epsilon = op_attr_float(c->node, "epsilon", 1e-5)};
    pgy_status st = inputs_check(c, "IFFfF", err);
    if (!st) st = ordered_scale(&n.from, c, X_SCALE, err);
    if (!st) st = ordered_scale(&n.to, c, Y_SCALE, err);
    if (st || !in_count(c, X)) return st;
    n.columns = (size_t)in_shape(c, X)[in_rank(c, X) - 1];
    rows_run(in_count(c, X) / n.columns, 6 * n.columns, run, &n);
    return PGY_OK;
}

const op_def OP_q_ordered_layer_normalization[] = {
    {"QOrderedLayerNormalization", "com.microsoft", 1, 0, 5, 5, 1, 1, 0, ATTRS, "int8", infer, eval,
     NULL,
     .signature = "Q = int8; F = float16 float32; S = float32; X:Q, scale_X:S, scale:F, ?B:F, "
                  "scale_Y:S -> Y:Q"},
    {NULL},
};

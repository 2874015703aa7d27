/* SPDX-License-Identifier: Apache-2.0 */
/* LinearRegressor: features times coefficients, plus intercepts. */
#include <inttypes.h>

#include "base/alloc.h"
#include "ops/class_linear.h"

static const op_attr_def ATTRS[] = {
    {"coefficients", OP_ATTR_FLOATS, true, NULL},
    {"intercepts", OP_ATTR_FLOATS, false, NULL},
    SCORES_ATTR,
    {"targets", OP_ATTR_INT, false, "1", .range = "1.."},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const int64_t targets = op_attr_int(c->node, "targets", 1);
    size_t intercepts;
    dim rows, features;
    op_attr_floats(c->node, "intercepts", &intercepts);
    pgy_status st = scores_infer_rows(c, &rows, &features, err);
    if (!st) st = linear_check(c, targets, features, err);
    if (!st && intercepts && intercepts != (uint64_t)targets)
        st = op_error(c->node, err, PGY_E_ARGUMENT,
                      "attribute intercepts has %zu numbers, but there are %" PRId64 " targets",
                      intercepts, targets);
    return st ? st : scores_infer_matrix(c, 0, PGY_F32, rows, dim_const(targets), err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const size_t targets = (size_t)op_attr_int(c->node, "targets", 1);
    const scores_transform how = scores_transform_of(c->node);
    size_t rows, features, count;
    const float *coefficients = op_attr_floats(c->node, "coefficients", &count);
    const float *intercepts = op_attr_floats(c->node, "intercepts", &count);
    const double *x;
    double *copy = NULL;
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = scores_rows(&rows, &features, c, err);
    if (!st) st = scores_input(&x, &copy, c, PGY_DTYPE_NONE, err);
    for (size_t i = 0; !st && i < rows; i++) {
        double *y = out_f64(c, 0) + i * targets;
        linear_row(y, x + i * features, features, targets, coefficients, intercepts);
        if (targets == 1)
            scores_apply_single(y, how, SCORES_SINGLE);
        else
            scores_apply(y, targets, how);
    }
    mem_free(copy);
    return st;
}

const op_def OP_linear_regressor[] = {
    {"LinearRegressor", "ai.onnx.ml", 1, 0, 1, 1, 1, 1, 0, ATTRS, SCORES_TYPES, infer, eval, NULL,
     .signature = "T = " SCORES_TYPES "; X:T -> Y:float32"},
    {NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* SVMRegressor: a weighted sum of kernel functions, or of the features, plus rho; for a one-class
 * machine the sign of it. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "ops/class_svm.h"

static const op_attr_def ATTRS[] = {
    SVM_ATTRS,
    {"n_supports", OP_ATTR_INT, false, "0", .range = "0.."},
    {"one_class", OP_ATTR_INT, false, "0"},
    {NULL},
};

pgy_status svm_regressor_init(svm *s, const op_node *n, pgy_error *err)
{
    const pgy_status st = svm_init(s, n, op_attr_int(n, "n_supports", 0), 1, err);
    if (!st && s->vector_count && s->coefficient_count != s->vector_count)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute coefficients has %zu numbers, but there are %zu support vectors",
                        s->coefficient_count, s->vector_count);
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    svm s;
    dim rows, features;
    pgy_status st = svm_regressor_init(&s, c->node, err);
    if (!st) st = scores_infer_rows(c, &rows, &features, err);
    if (!st) st = svm_check_features(&s, c, features, err);
    return st ? st : scores_infer_matrix(c, 0, PGY_F32, rows, dim_const(1), err);
}

static double run_row(const svm *s, const double *x, const double *turned, double *k)
{
    const double rho = (double)s->rho[0];
    if (!s->vector_count) {
        svm_kernels(k, s, x, turned, 1);
        return rho + k[0];
    }
    svm_kernels(k, s, x, turned, s->vector_count);
    return rho + svm_sum(k, s->coefficients, s->vector_count);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    svm s;
    size_t rows, features;
    const double *x;
    double *copy = NULL, *k = NULL, *turned = NULL;
    const bool one_class = op_attr_int(c->node, "one_class", 0) != 0;
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = svm_regressor_init(&s, c->node, err);
    if (!st) st = scores_rows(&rows, &features, c, err);
    if (!st) st = scores_input(&x, &copy, c, PGY_DTYPE_NONE, err);
    if (!st) st = svm_turn(&turned, &s, c, err);
    if (!st) st = workspace_alloc((void **)&k, c, s.vector_count + 1, sizeof *k, err);
    for (size_t i = 0; !st && i < rows; i++) {
        const double y = run_row(&s, x + i * features, turned, k);
        out_f64(c, 0)[i] = !one_class ? y : y > 0 ? 1 : -1;
        st = cancel_check(err);
    }
    mem_free(copy);
    mem_free(k);
    mem_free(turned);
    return st;
}

const op_def OP_svm_regressor[] = {
    {"SVMRegressor", "ai.onnx.ml", 1, 0, 1, 1, 1, 1, 0, ATTRS, SCORES_TYPES, infer, eval, NULL,
     .signature = "T = " SCORES_TYPES "; X:T -> Y:float32"},
    {NULL},
};

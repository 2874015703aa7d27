/* SPDX-License-Identifier: Apache-2.0 */
/* TreeEnsembleRegressor: the weights of the leaves that a row reaches, joined per target. */
#include "base/alloc.h"
#include "base/cancel.h"
#include "ops/class_forest.h"

#define OWN                                                                                 \
    {"aggregate_function", OP_ATTR_STRING, false, "SUM", .choices = "AVERAGE SUM MIN MAX"}, \
    {                                                                                       \
        "n_targets", OP_ATTR_INT, true, NULL, .range = "1.."                                \
    }
static const op_attr_def ATTRS_1[] = {FOREST_ATTRS("target"), OWN, {NULL}};
static const op_attr_def ATTRS_3[] = {
    FOREST_ATTRS("target"), FOREST_TENSORS("target"), OWN, {NULL}};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    dim rows, features;
    const pgy_status st = scores_infer_rows(c, &rows, &features, err);
    if (st) return st;
    return scores_infer_matrix(c, 0, PGY_F32, rows, dim_const(op_attr_int(c->node, "n_targets", 1)),
                               err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    forest f = {0};
    size_t rows, features;
    const double *x;
    double *copy = NULL;
    bool *seen = NULL;
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = scores_rows(&rows, &features, c, err);
    if (!st) st = forest_init(&f, c->node, false, op_attr_int(c->node, "n_targets", 1), err);
    if (!st) st = forest_check_features(&f, c->node, features, err);
    /* Tests jump, so they see the features as their type holds them. */
    if (!st) st = scores_input(&x, &copy, c, PGY_F32, err);
    if (!st) st = workspace_alloc((void **)&seen, c, f.target_count, sizeof *seen, err);
    for (size_t i = 0; !st && i < rows; i++) {
        double *y = out_f64(c, 0) + i * f.target_count;
        forest_sum(&f, x + i * features, y, seen);
        forest_finish_targets(&f, y, seen);
        if (i % 256 == 0) st = cancel_check(err);
    }
    mem_free(copy);
    mem_free(seen);
    forest_deinit(&f);
    return st;
}

#define ROW(version, attrs)                                                                    \
    {                                                                                          \
        "TreeEnsembleRegressor", "ai.onnx.ml", version, 0, 1, 1, 1, 1, 0, attrs, SCORES_TYPES, \
            infer, eval, NULL, .signature = "T = " SCORES_TYPES "; X:T -> Y:float32"           \
    }
const op_def OP_tree_ensemble_regressor[] = {ROW(1, ATTRS_1), ROW(3, ATTRS_3), {NULL}};

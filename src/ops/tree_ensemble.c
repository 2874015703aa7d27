/* SPDX-License-Identifier: Apache-2.0 */
/* TreeEnsemble: evaluates each tree for every row of features; the weights of the reached leaves
 * are joined per target and transformed. */
#include "base/alloc.h"
#include "base/cancel.h"
#include "ops/class_forest.h"

static const op_attr_def ATTRS[] = {
    {"aggregate_function", OP_ATTR_INT, false, "1"},
    {"leaf_targetids", OP_ATTR_INTS, true, NULL},
    {"leaf_weights", OP_ATTR_TENSOR, true, NULL},
    {"membership_values", OP_ATTR_TENSOR, false, NULL},
    {"n_targets", OP_ATTR_INT, false, NULL, NULL, "1.."},
    {"nodes_falseleafs", OP_ATTR_INTS, true, NULL},
    {"nodes_falsenodeids", OP_ATTR_INTS, true, NULL},
    {"nodes_featureids", OP_ATTR_INTS, true, NULL},
    {"nodes_hitrates", OP_ATTR_TENSOR, false, NULL},
    {"nodes_missing_value_tracks_true", OP_ATTR_INTS, false, NULL},
    {"nodes_modes", OP_ATTR_TENSOR, true, NULL},
    {"nodes_splits", OP_ATTR_TENSOR, true, NULL},
    {"nodes_trueleafs", OP_ATTR_INTS, true, NULL},
    {"nodes_truenodeids", OP_ATTR_INTS, true, NULL},
    {"post_transform", OP_ATTR_INT, false, "0"},
    {"tree_roots", OP_ATTR_INTS, true, NULL},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    pgy_status st = rank_check(c, 0, 2, 2, err);
    if (st) return st;
    dim *dims = op_dims(c, 2);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] =
        x->rank == 2 ? x->dims[0] : dim_unknown(c->dims, "the rank of the input is not known");
    dims[1] = dim_const(forest_targets_version5(c->node));
    op_set_output(c, 0, x->dtype, 2, dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    forest f = {0};
    bool *seen = NULL;
    pgy_status st = inputs_check(c, "F", err);
    const size_t rows = st ? 0 : (size_t)in_shape(c, 0)[0];
    const size_t features = st ? 0 : (size_t)in_shape(c, 0)[1];
    if (!st) st = forest_init_version5(&f, c->node, err);
    if (!st) st = forest_check_features(&f, c->node, features, err);
    if (!st) st = workspace_alloc((void **)&seen, c, f.target_count, sizeof *seen, err);
    for (size_t i = 0; !st && i < rows; i++) {
        double *y = out_f64(c, 0) + i * f.target_count;
        forest_sum(&f, in_f64(c, 0) + i * features, y, seen);
        forest_finish_targets(&f, y, seen);
        if (i % 256 == 0) st = cancel_check(err);
    }
    mem_free(seen);
    forest_deinit(&f);
    return st;
}

const op_def OP_tree_ensemble[] = {
    {"TreeEnsemble", "ai.onnx.ml", 5, 0, 1, 1, 1, 1, 0, ATTRS, "float16 float32 float64", infer,
     eval, NULL, .signature = "T = float16 float32 float64; X:T -> Y:T"},
    {NULL},
};

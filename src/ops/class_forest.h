/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by TreeEnsembleClassifier and TreeEnsembleRegressor: the trees of a node's attributes as
 * an array of nodes without cycles, the leaf that a row of features reaches, and the scores of the
 * leaves of all trees. */
#ifndef OPS_CLASS_FOREST_H
#define OPS_CLASS_FOREST_H

#include "ops/class_scores.h"

enum forest_mode {
    FOREST_LEQ,
    FOREST_LT,
    FOREST_GTE,
    FOREST_GT,
    FOREST_EQ,
    FOREST_NEQ,
    FOREST_LEAF
};

typedef struct forest_node {
    double split; /* of a leaf: its only weight if there is one target */
    uint32_t feature;
    uint32_t next[2]; /* next node if the test is false, if it is true; of a leaf: its first weight
                         and the number of its weights */
    uint8_t mode;
    bool missing; /* a NaN passes the test */
} forest_node;

typedef struct forest_weight {
    uint32_t target;
    double value;
} forest_weight;

typedef enum forest_join { FOREST_AVERAGE, FOREST_SUM, FOREST_MIN, FOREST_MAX } forest_join;

typedef struct forest {
    forest_node *nodes;
    forest_weight *weights; /* those of a leaf lie side by side */
    uint32_t *roots;
    const double *base;
    size_t node_count, weight_count, root_count, base_count, target_count;
    size_t feature_count; /* the features that the tests use: the largest number + 1 */
    forest_join join;
    scores_transform transform;
    bool transforms_one; /* a single target, too */
} forest;

/* Attributes that both operators have; `target` is "target" or "class". */
#define FOREST_ATTRS(target)                                                                       \
    {"base_values", OP_ATTR_FLOATS, false, NULL},                                                  \
        {"nodes_falsenodeids", OP_ATTR_INTS, false, NULL},                                         \
        {"nodes_featureids", OP_ATTR_INTS, false, NULL},                                           \
        {"nodes_hitrates", OP_ATTR_FLOATS, false, NULL},                                           \
        {"nodes_missing_value_tracks_true", OP_ATTR_INTS, false, NULL},                            \
        {"nodes_modes", OP_ATTR_STRINGS, false, NULL,                                              \
         .choices = "BRANCH_LEQ BRANCH_LT BRANCH_GTE BRANCH_GT BRANCH_EQ BRANCH_NEQ LEAF"},        \
        {"nodes_nodeids", OP_ATTR_INTS, false, NULL},                                              \
        {"nodes_treeids", OP_ATTR_INTS, false, NULL},                                              \
        {"nodes_truenodeids", OP_ATTR_INTS, false, NULL},                                          \
        {"nodes_values", OP_ATTR_FLOATS, false, NULL}, {target "_ids", OP_ATTR_INTS, false, NULL}, \
        {target "_nodeids", OP_ATTR_INTS, false, NULL},                                            \
        {target "_treeids", OP_ATTR_INTS, false, NULL},                                            \
        {target "_weights", OP_ATTR_FLOATS, false, NULL}, SCORES_ATTR
/* Those of version 3. */
#define FOREST_TENSORS(target)                                     \
    {"base_values_as_tensor", OP_ATTR_TENSOR, false, NULL},        \
        {"nodes_hitrates_as_tensor", OP_ATTR_TENSOR, false, NULL}, \
        {"nodes_values_as_tensor", OP_ATTR_TENSOR, false, NULL},   \
    {                                                              \
        target "_weights_as_tensor", OP_ATTR_TENSOR, false, NULL   \
    }

/* Reads and checks the attributes of a node; `target_count` is the number of targets or classes.
 * The caller calls forest_deinit also after a failure. PGY_E_ARGUMENT: lists of different lengths,
 * nodes that do not exist or occur twice, cycles. */
pgy_status forest_init(forest *f, const op_node *n, bool classes, int64_t target_count,
                       pgy_error *err) PGY_MUST_CHECK;
/* The same for TreeEnsemble, whose tests for membership become chains of tests for equality. */
pgy_status forest_init_version5(forest *f, const op_node *n, pgy_error *err) PGY_MUST_CHECK;
int64_t forest_targets_version5(const op_node *n);
void forest_deinit(forest *f);
/* *at becomes a node that leads to itself, or node_count if there is none. PGY_E_MEMORY,
 * PGY_E_CANCELLED. */
pgy_status forest_find_cycle(size_t *at, const forest *f, const op_node *n,
                             pgy_error *err) PGY_MUST_CHECK;
/* Fails if a test uses a feature that rows of `features` numbers lack. */
pgy_status forest_check_features(const forest *f, const op_node *n, size_t features,
                                 pgy_error *err) PGY_MUST_CHECK;

/* The leaf of the tree at `root` that a row reaches. */
const forest_node *forest_leaf(const forest *f, uint32_t root, const double *x);
/* Joins the weights of all reached leaves in y, and marks the targets that got a weight in `seen`.
 * With one target, a leaf counts with its first weight or, without weights, with its value in
 * nodes_values. */
void forest_sum(const forest *f, const double *x, double *y, bool *seen);
/* Makes sums into a regressor's outputs: average, base values, transform. Of several targets, one
 * that got no weight stays 0, without its base value, as in ONNX Runtime. */
void forest_finish_targets(const forest *f, double *y, const bool *seen);

/* Of a classifier: what decides between two classes. */
typedef struct forest_classes {
    bool one_id;   /* two classes, but the weights have one class id */
    bool positive; /* no weight is negative */
} forest_classes;
forest_classes forest_classes_of(const forest *f);
/* Makes sums into a classifier's scores. *label is the position of the class label or, with
 * *literal, the label itself. False: no leaf had a weight, so no class wins. */
bool forest_finish_classes(size_t *label, bool *literal, const forest *f, forest_classes classes,
                           double *y, bool *seen);

#endif

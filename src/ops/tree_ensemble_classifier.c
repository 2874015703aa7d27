/* SPDX-License-Identifier: Apache-2.0 */
/* TreeEnsembleClassifier: the weights of the leaves that a row reaches, summed per class, and the
 * label of the class that wins. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "ops/class_forest.h"

#define OWN                                                 \
    {"classlabels_int64s", OP_ATTR_INTS, false, NULL},      \
    {                                                       \
        "classlabels_strings", OP_ATTR_STRINGS, false, NULL \
    }
static const op_attr_def ATTRS_1[] = {FOREST_ATTRS("class"), OWN, {NULL}};
static const op_attr_def ATTRS_3[] = {FOREST_ATTRS("class"), FOREST_TENSORS("class"), OWN, {NULL}};

static scores_labels labels_of(const op_node *n)
{
    return scores_labels_of(n, "classlabels_strings", "classlabels_int64s");
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    dim rows, features;
    const scores_labels labels = labels_of(c->node);
    if (!labels.count)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "one of attributes classlabels_int64s and classlabels_strings must have "
                        "labels");
    pgy_status st = scores_infer_rows(c, &rows, &features, err);
    if (!st) st = scores_infer_labels(c, &labels, rows, err);
    if (st) return st;
    return scores_infer_matrix(c, 1, PGY_F32, rows, dim_const((int64_t)labels.count), err);
}

static pgy_status run_row(op_eval *c, const forest *f, forest_classes classes, const double *x,
                          size_t row, bool *seen, pgy_error *err)
{
    static const scores_labels LITERAL = {0};
    const scores_labels labels = labels_of(c->node);
    double *y = out_f64(c, 1) + row * f->target_count;
    size_t label;
    bool literal;
    forest_sum(f, x, y, seen);
    if (!forest_finish_classes(&label, &literal, f, classes, y, seen))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "no leaf that row %zu reaches has a weight, so no class wins", row);
    return scores_put_label(c, row, literal && !labels.texts ? &LITERAL : &labels, label, err);
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
    if (!st) st = forest_init(&f, c->node, true, (int64_t)labels_of(c->node).count, err);
    if (!st) st = forest_check_features(&f, c->node, features, err);
    /* Tests jump, so they see the features as their type holds them. */
    if (!st) st = scores_input(&x, &copy, c, PGY_F32, err);
    if (!st) st = workspace_alloc((void **)&seen, c, f.target_count, sizeof *seen, err);
    const forest_classes classes = st ? (forest_classes){0} : forest_classes_of(&f);
    for (size_t i = 0; !st && i < rows; i++) {
        st = run_row(c, &f, classes, x + i * features, i, seen, err);
        if (!st && i % 256 == 0) st = cancel_check(err);
    }
    mem_free(copy);
    mem_free(seen);
    forest_deinit(&f);
    return st;
}

#define ROW(version, attrs)                                                                     \
    {                                                                                           \
        "TreeEnsembleClassifier", "ai.onnx.ml", version, 0, 1, 1, 2, 2, 0, attrs, SCORES_TYPES, \
            infer, eval, NULL,                                                                  \
            .signature = "T1 = " SCORES_TYPES "; T2 = string int64; X:T1 -> Y:T2, Z:float32"    \
    }
const op_def OP_tree_ensemble_classifier[] = {ROW(1, ATTRS_1), ROW(3, ATTRS_3), {NULL}};

/* SPDX-License-Identifier: Apache-2.0 */
/* LinearClassifier: a score per class from features times coefficients; one score may stand for
 * two classes. */
#include "base/alloc.h"
#include "ops/class_linear.h"

static const op_attr_def ATTRS[] = {
    {"classlabels_ints", OP_ATTR_INTS, false, NULL},
    {"classlabels_strings", OP_ATTR_STRINGS, false, NULL},
    {"coefficients", OP_ATTR_FLOATS, true, NULL},
    {"intercepts", OP_ATTR_FLOATS, true, NULL},
    {"multi_class", OP_ATTR_INT, false, "0"},
    SCORES_ATTR,
    {NULL},
};

static scores_labels labels_of(const op_node *n)
{
    return scores_labels_of(n, "classlabels_strings", "classlabels_ints");
}

static size_t score_count(const op_node *n)
{
    size_t count;
    op_attr_floats(n, "intercepts", &count);
    return count;
}

/* A single score with two labels gives both classes a score. */
static bool is_pair(const op_node *n)
{
    return score_count(n) == 1 && labels_of(n).count == 2;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const size_t scores = score_count(c->node), labels = labels_of(c->node).count;
    dim rows, features;
    if (scores == 1 ? labels != 0 && labels != 2 : labels != scores)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute intercepts has %zu numbers, but there are %zu class labels",
                        scores, labels);
    const scores_labels names = labels_of(c->node);
    pgy_status st = scores_infer_rows(c, &rows, &features, err);
    if (!st) st = linear_check(c, (int64_t)scores, features, err);
    if (!st) st = scores_infer_labels(c, &names, rows, err);
    if (st) return st;
    const dim columns = dim_const(is_pair(c->node) ? 2 : (int64_t)scores);
    return scores_infer_matrix(c, 1, PGY_F32, rows, columns, err);
}

/* Sets the label of a row from its scores y, and transforms them. */
static pgy_status finish_row(op_eval *c, size_t row, double *y, size_t scores, pgy_error *err)
{
    const scores_labels labels = labels_of(c->node);
    const scores_transform how = scores_transform_of(c->node);
    size_t best = scores == 1 && y[0] > 0;
    for (size_t k = 1; k < scores; k++) best = y[k] > y[best] ? k : best;
    if (scores > 1)
        scores_apply(y, scores, how);
    else
        scores_apply_single(y, how, is_pair(c->node) ? SCORES_COMPLEMENT : SCORES_SINGLE);
    return scores_put_label(c, row, &labels, best, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const size_t scores = score_count(c->node), columns = is_pair(c->node) ? 2 : scores;
    size_t rows, features, count;
    const float *coefficients = op_attr_floats(c->node, "coefficients", &count);
    const float *intercepts = op_attr_floats(c->node, "intercepts", &count);
    const double *x;
    double *copy = NULL;
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = scores_rows(&rows, &features, c, err);
    if (!st) st = scores_input(&x, &copy, c, PGY_F64, err);
    for (size_t i = 0; !st && i < rows; i++) {
        double *y = out_f64(c, 1) + i * columns;
        linear_row(y, x + i * features, features, scores, coefficients, intercepts);
        st = finish_row(c, i, y, scores, err);
    }
    mem_free(copy);
    return st;
}

const op_def OP_linear_classifier[] = {
    {"LinearClassifier", "ai.onnx.ml", 1, 0, 1, 1, 2, 2, 0, ATTRS, SCORES_TYPES, infer, eval, NULL,
     .signature = "T1 = " SCORES_TYPES "; T2 = string int64; X:T1 -> Y:T2, Z:float32"},
    {NULL},
};

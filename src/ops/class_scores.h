/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the classifiers and regressors of ai.onnx.ml: rows of features, the transforms of
 * scores, and class labels. Where ONNX's text and ONNX Runtime differ, this is ONNX Runtime's
 * result; docs/disagreements.md lists the cases. */
#ifndef OPS_CLASS_SCORES_H
#define OPS_CLASS_SCORES_H

#include "ops/class_check.h"

#define SCORES_TRANSFORMS "NONE SOFTMAX LOGISTIC SOFTMAX_ZERO PROBIT"
#define SCORES_ATTR                                                                   \
    {                                                                                 \
        "post_transform", OP_ATTR_STRING, false, "NONE", .choices = SCORES_TRANSFORMS \
    }
#define SCORES_TYPES "float32 float64 int64 int32"

/* The numbers are those of TreeEnsemble's attribute post_transform. */
typedef enum scores_transform {
    SCORES_NONE,
    SCORES_SOFTMAX,
    SCORES_LOGISTIC,
    SCORES_SOFTMAX_ZERO,
    SCORES_PROBIT
} scores_transform;
scores_transform scores_transform_of(const op_node *n); /* attribute post_transform as a text */

/* What the single score s of two classes becomes; with SCORES_LOGISTIC, both pairs become the
 * logistic functions of -s and s. */
typedef enum scores_pair {
    SCORES_SINGLE,     /* s alone */
    SCORES_COMPLEMENT, /* 1 - s, s */
    SCORES_OPPOSITE    /* -s, s */
} scores_pair;

/* Transforms the scores of one row: several, or the single one y[0] (y[1] must exist unless `pair`
 * is SCORES_SINGLE). */
void scores_apply(double *y, size_t count, scores_transform how);
void scores_apply_single(double *y, scores_transform how, scores_pair pair);
double scores_logistic(double x);

/* Input 0 as rows of features; a vector is one row. PGY_E_SHAPE: another rank. */
pgy_status scores_rows(size_t *rows, size_t *features, const op_eval *c,
                       pgy_error *err) PGY_MUST_CHECK;
/* Elements of input 0 as float64. Integers are rounded to float32 first, as in ONNX Runtime; so are
 * elements of the declared type `narrow`. *copy is the caller's (mem_free) and may be NULL. */
pgy_status scores_input(const double **x, double **copy, const op_eval *c, pgy_dtype narrow,
                        pgy_error *err) PGY_MUST_CHECK;
/* Checks the rank of input 0 and gives its number of rows and features. */
pgy_status scores_infer_rows(op_infer *c, dim *rows, dim *features, pgy_error *err) PGY_MUST_CHECK;
/* Sets output i to [rows, columns]. */
pgy_status scores_infer_matrix(op_infer *c, size_t i, pgy_dtype dtype, dim rows, dim columns,
                               pgy_error *err) PGY_MUST_CHECK;

/* Class labels: the texts if there are any, else the integers. */
typedef struct scores_labels {
    const span *texts;
    const int64_t *ints;
    size_t count;
} scores_labels;
scores_labels scores_labels_of(const op_node *n, const char *texts, const char *ints);
/* Sets output 0 to the labels' type, [rows]. */
pgy_status scores_infer_labels(op_infer *c, const scores_labels *l, dim rows,
                               pgy_error *err) PGY_MUST_CHECK;
/* Sets element `row` of output 0 to label k. Two classes without labels of their own are 0 and 1.
 */
pgy_status scores_put_label(op_eval *c, size_t row, const scores_labels *l, size_t k,
                            pgy_error *err) PGY_MUST_CHECK;

#endif

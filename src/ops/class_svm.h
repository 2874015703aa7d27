/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by SVMClassifier and SVMRegressor: the kernel function of features and vectors. */
#ifndef OPS_CLASS_SVM_H
#define OPS_CLASS_SVM_H

#include "ops/class_scores.h"

#define SVM_ATTRS                                                                                 \
    {"coefficients", OP_ATTR_FLOATS, true, NULL}, {"kernel_params", OP_ATTR_FLOATS, false, NULL}, \
        {"kernel_type", OP_ATTR_STRING, false, "LINEAR", .choices = "LINEAR POLY RBF SIGMOID"},   \
        {"rho", OP_ATTR_FLOATS, true, NULL}, {"support_vectors", OP_ATTR_FLOATS, false, NULL},    \
        SCORES_ATTR

typedef enum svm_kernel { SVM_LINEAR, SVM_POLY, SVM_RBF, SVM_SIGMOID } svm_kernel;

typedef struct svm {
    svm_kernel kernel;
    double gamma, coef0, degree;
    const float *coefficients, *rho, *vectors;
    size_t coefficient_count, rho_count, vector_value_count;
    size_t vector_count; /* 0: linear, the coefficients are the vectors */
    size_t features;
} svm;

/* What the end of a classifier's row depends on. */
typedef struct svm_classes {
    const float *prob_a, *prob_b; /* for each pair of classes, if there are probabilities */
    size_t classes, pairs, columns;
    scores_transform transform;
    bool has_vectors;   /* else the scores are linear, one for each class */
    bool probabilities; /* the scores are those of classes, not of pairs */
    bool positive;      /* no coefficient is negative */
} svm_classes;

/* The numbers of one row of a classifier. */
typedef struct svm_room {
    double *decisions; /* one for each pair of classes; positive: the first one */
    double *pairs, *matrix, *products, *votes;
} svm_room;

typedef struct svm_classifier {
    svm s;
    svm_classes k;
    const op_node *node;
    scores_labels labels;
    const int64_t *per_class; /* number of support vectors of each class */
} svm_classifier;

/* PGY_E_ARGUMENT: attributes contradict each other. */
pgy_status svm_classifier_init(svm_classifier *c, const op_node *n, pgy_error *err) PGY_MUST_CHECK;
pgy_status svm_regressor_init(svm *s, const op_node *n, pgy_error *err) PGY_MUST_CHECK;
/* The room of a row is in so many float64 numbers. */
size_t svm_room_count(const svm_classes *k);
svm_room svm_room_of(const svm_classes *k, double *numbers);
/* Makes scores y (k->columns, two at least) and the position of the label from the decisions or,
 * without support vectors, from the linear scores in y. */
size_t svm_finish_classes(double *y, const svm_classes *k, const svm_room *r);

/* Reads the attributes that both operators have. `vectors` is the number of support vectors,
 * `outputs` that of the rows of coefficients without support vectors. PGY_E_ARGUMENT */
pgy_status svm_init(svm *s, const op_node *n, int64_t vectors, size_t outputs,
                    pgy_error *err) PGY_MUST_CHECK;
/* Checks that rows of features are as long as the vectors. */
pgy_status svm_check_features(const svm *s, const op_infer *c, dim features,
                              pgy_error *err) PGY_MUST_CHECK;
/* Copies the vectors, or the coefficients without them, so that element f of vector i of n is
 * (*turned)[f * n + i]; the caller frees it with mem_free. */
pgy_status svm_turn(double **turned, const svm *s, const op_eval *c, pgy_error *err) PGY_MUST_CHECK;
/* k[i] = kernel function of x and vector i of all `count` that svm_turn has copied. */
void svm_kernels(double *k, const svm *s, const double *x, const double *turned, size_t count);
/* A degree that is computed by products, from 1 to 8; 0: by pow. */
int svm_small_degree(const svm *s);
/* The sum of k[i] * weights[i], in a fixed order. */
double svm_sum(const double *k, const float *weights, size_t count);

#endif

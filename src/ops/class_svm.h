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
/* The sum of k[i] * weights[i], in a fixed order. */
double svm_sum(const double *k, const float *weights, size_t count);

#endif

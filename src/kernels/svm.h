/* SPDX-License-Identifier: Apache-2.0 */
/* Support vector machines in float32: parameters, and loops over rows of features and vectors.
 * Vectors lie turned, feature by feature, so that a register holds one feature of several. */
#ifndef KERNELS_SVM_H
#define KERNELS_SVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/extent.h"
#include "ops/class_svm.h"

/* The number of vectors is rounded up to a multiple, with vectors of zeros. */
enum { SVM_PAD = 16 };

/* Dot products or squared distances of rows with SVM_PAD vectors. */
typedef struct svm_tile {
    float *to;           /* result of row r and vector i: to[r * padded + i] */
    const float *x;      /* feature f of row r: x[r * features + f] */
    const float *turned; /* feature f of vector i: turned[f * padded + i] */
    size_t padded, features, rows;
    bool squares;
} svm_tile;

/* k = (gamma * k + coef0)^degree for a degree of at least 1. */
typedef struct svm_power {
    float gamma, coef0;
    uint32_t degree;
} svm_power;

typedef struct svm_loops {
    void (*tile)(const svm_tile *t);
    void (*power)(float *k, size_t count, const svm_power *p); /* a multiple of SVM_PAD */
    double (*dot)(const float *a, const float *b, size_t count);
} svm_loops;

extern const svm_loops svm_loops_portable, svm_loops_avx2, svm_loops_avx512;

/* Behind it lie labels (int64, of a classifier), numbers of vectors of the classes (uint64), rho,
 * factors prob_a and prob_b, rows of coefficients and the turned vectors (float). */
typedef struct svm_params {
    uint64_t rows, features;
    uint64_t vectors, padded; /* those that features are multiplied with */
    uint64_t classes;         /* 0: a regressor */
    uint64_t pairs, columns, coefficient_rows, rhos;
    uint64_t block; /* rows that a thread computes together */
    uint32_t level, kernel, degree, transform;
    /* Sums over vectors are in the vectors, as the kernel function is linear: there is one vector
     * for each pair of classes, or one alone. */
    uint32_t joined;
    uint32_t has_vectors, probabilities, positive, one_class;
    float gamma, coef0, power; /* power: instead of degree, which is 0 then */
} svm_params;

typedef struct svm_view {
    const svm_params *p;
    const int64_t *labels;
    const uint64_t *per_class;
    const float *rho, *prob_a, *prob_b, *coefficients, *turned;
} svm_view;

svm_view svm_view_of(const void *params);
/* What ends a classifier's row (ops/class_svm.h). */
svm_classes svm_classes_of(const svm_view *v);
/* Bytes of the kernel functions of a block in a thread's memory; behind them are the numbers of a
 * row, of which svm_numbers is the count. */
uint64_t svm_kernel_bytes(const svm_params *p);
uint64_t svm_numbers(const svm_params *p);
/* Parameters and their bytes, for mem_free; false: out of memory, or attributes that the shape rule
 * refuses. */
bool svm_params_make(svm_params **out, size_t *bytes, const kernel_problem *u);
/* Checks all that a run relies on, in parameters of any origin. */
bool svm_params_check(kernel_extent *e, const svm_params *p, uint64_t bytes);

#endif

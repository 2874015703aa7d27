/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions over arrays of float32, one set for each processor level.
 *
 * exp, log, tanh, sigmoid, erf, sin, cos, acos, atan, sinh and cosh are within two units in
 * the last place everywhere, denormals and huge arguments included; asin, asinh, acosh and atanh
 * within three, tan within four. Functions composed of them round a few times more. NaN gives NaN.
 * A result depends on its argument and the level only, not on its position in the array or the
 * length. y may be x.
 */
#ifndef KERNELS_VEC_MATH_H
#define KERNELS_VEC_MATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/system.h"

typedef void (*vec_function)(float *y, const float *x, size_t n);

/* Normalisation of rows: y = (x - mean) * factor * scale[i] + bias[i], factor = 1 / sqrt(variance +
 * epsilon). */
typedef struct vec_norm {
    bool root; /* the mean counts as 0 */
    float epsilon;
    const float *scale, *bias; /* bias may be NULL */
} vec_norm;

typedef struct vec_math {
    vec_function exp, log, tanh, sigmoid, erf;
    vec_function expm1;     /* only valid for x <= 0 */
    vec_function gelu;      /* x/2 (1 + erf(x / sqrt 2)) */
    vec_function fast_gelu; /* with tanh */
    vec_function silu;      /* x sigmoid(x) */
    vec_function softplus;  /* log(1 + exp(x)) */
    vec_function mish;      /* x tanh(softplus(x)) */
    vec_function sin, cos, tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh;
    /* Adds in an order that suits vectors, not from left to right. */
    float (*sum)(const float *x, size_t n);
    float (*sum_squares)(const float *x, size_t n, float mean); /* sum of (x - mean)^2 */
    float (*max)(const float *x, size_t n); /* NaN if there is one; -inf if empty */
    /* y = exp(x - less); returns the sum of y. */
    float (*exp_sum)(float *y, const float *x, size_t n, float less);
    /* The same for n columns at once, whose elements lie `step` apart: y[i][j] = exp(x[i][j] -
     * less[j]), sum[j] += y[i][j], for i < rows. */
    void (*exp_sum_columns)(float *y, const float *x, size_t rows, size_t step, size_t n,
                            const float *less, float *sum);
    float (*sum_magnitudes)(const float *x, size_t n);
    float (*min)(const float *x, size_t n); /* like max */
    /* y = (x - mean) * factor + bias */
    void (*affine)(float *y, const float *x, size_t n, float mean, float factor, float bias);
    /* y = (x - mean) * factor * scale[i] + bias[i]; bias may be NULL */
    void (*normalize)(float *y, const float *x, size_t n, float mean, float factor,
                      const float *scale, const float *bias);
    /* c = alpha * a + beta * b for rows of n numbers, which lie `c_step` and so on apart. b may be
     * NULL, and c may be a or b. */
    void (*combine_rows)(float *c, size_t c_step, const float *a, size_t a_step, float alpha,
                         const float *b, size_t b_step, float beta, size_t rows, size_t n);
    /* Normalises contiguous rows of n > 0 numbers; stores mean and factor of each row unless they
     * are NULL. */
    void (*normalize_rows)(float *y, const float *x, size_t rows, size_t n, const vec_norm *v,
                           float *means, float *factors);
    /* Softmax of contiguous rows of n > 0 numbers; y may be x. */
    void (*softmax_rows)(float *y, const float *x, size_t rows, size_t n);
} vec_math;

const vec_math *vec_math_of(cpu_level level);

/* These use the best level that this processor has and POLYGRAPHY_CPU allows. */
void vec_exp_f32(float *y, const float *x, size_t n);
void vec_log_f32(float *y, const float *x, size_t n);
void vec_tanh_f32(float *y, const float *x, size_t n);
void vec_sigmoid_f32(float *y, const float *x, size_t n);
void vec_erf_f32(float *y, const float *x, size_t n);

#endif

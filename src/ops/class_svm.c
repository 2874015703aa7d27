/* SPDX-License-Identifier: Apache-2.0 */
/* Support vector machines: attributes and kernel functions. */
#include "ops/class_svm.h"

#include <inttypes.h>
#include <math.h>

#include "base/system.h"
#include "ops/vmath.h"

static pgy_status read_kernel(svm *s, const op_node *n, pgy_error *err)
{
    static const char *const NAMES[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    size_t count, i = 0;
    const float *params = op_attr_floats(n, "kernel_params", &count);
    while (i < SVM_SIGMOID && !op_attr_is(n, "kernel_type", NAMES[i], "LINEAR")) i++;
    s->kernel = s->vector_count ? (svm_kernel)i : SVM_LINEAR;
    if (count && count < 3)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute kernel_params has %zu numbers, but must have gamma, coef0 and "
                        "degree",
                        count);
    s->gamma = count ? (double)params[0] : 0;
    s->coef0 = count ? (double)params[1] : 0;
    s->degree = count ? (double)params[2] : 0;
    return PGY_OK;
}

pgy_status svm_init(svm *s, const op_node *n, int64_t vectors, size_t outputs, pgy_error *err)
{
    *s = (svm){0};
    s->coefficients = op_attr_floats(n, "coefficients", &s->coefficient_count);
    s->rho = op_attr_floats(n, "rho", &s->rho_count);
    s->vectors = op_attr_floats(n, "support_vectors", &s->vector_value_count);
    if (!s->rho_count || !s->coefficient_count)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attributes rho and coefficients must have at least one number each");
    if (vectors < 0 || (uint64_t)vectors > s->vector_value_count)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "there are %" PRId64 " support vectors, but attribute support_vectors has "
                        "%zu numbers",
                        vectors, s->vector_value_count);
    s->vector_count = (size_t)vectors;
    const size_t values = vectors ? s->vector_value_count : s->coefficient_count;
    const size_t rows = vectors ? s->vector_count : outputs;
    if (values % rows)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute %s has %zu numbers, which %zu rows cannot share equally",
                        vectors ? "support_vectors" : "coefficients", values, rows);
    s->features = values / rows;
    return read_kernel(s, n, err);
}

pgy_status svm_check_features(const svm *s, const op_infer *c, dim features, pgy_error *err)
{
    if (!dim_differ(features, dim_const((int64_t)s->features))) return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE,
                    "input 0 has rows of another length than the vectors of %zu numbers",
                    s->features);
}

/* Products are what a power with a small whole degree means. */
int svm_small_degree(const svm *s)
{
    const double d = s->degree;
    return d >= 1 && d <= 8 && d == floor(d) ? (int)d : 0;
}

/* What the kernel function is applied to: the dot products or squared distances of x and the
 * vectors, scaled; of POLY with a small whole degree the power itself. */
static void arguments(double *k, const svm *s, const double *x, const double *turned, size_t first,
                      size_t count)
{
    const bool squares = s->kernel == SVM_RBF;
    const int degree = s->kernel == SVM_POLY ? svm_small_degree(s) : 0;
    for (size_t i = first; i < count; i++) {
        double sum = 0, y;
        for (size_t f = 0; f < s->features; f++) {
            const double v = turned[f * count + i], d = x[f] - v;
            sum += squares ? d * d : x[f] * v;
        }
        y = s->kernel == SVM_LINEAR ? sum : squares ? -s->gamma * sum : s->gamma * sum + s->coef0;
        k[i] = y;
        for (int d = 1; d < degree; d++) k[i] *= y;
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

/* The same for eight vectors at a time, in the same order of operations; returns how many. */
__attribute__((target("avx2"))) static size_t arguments_fast(double *k, const svm *s,
                                                             const double *x, const double *turned,
                                                             size_t count)
{
    const bool squares = s->kernel == SVM_RBF;
    const int degree = s->kernel == SVM_POLY ? svm_small_degree(s) : 0;
    const __m256d gamma = _mm256_set1_pd(squares ? -s->gamma : s->gamma),
                  coef0 = _mm256_set1_pd(s->coef0);
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256d sum[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};
        for (size_t f = 0; f < s->features; f++)
            for (int h = 0; h < 2; h++) {
                const __m256d all = _mm256_set1_pd(x[f]),
                              v = _mm256_loadu_pd(turned + f * count + i + 4 * (size_t)h);
                const __m256d d = _mm256_sub_pd(all, v);
                sum[h] =
                    _mm256_add_pd(sum[h], squares ? _mm256_mul_pd(d, d) : _mm256_mul_pd(all, v));
            }
        for (int h = 0; h < 2; h++) {
            __m256d y = s->kernel == SVM_LINEAR ? sum[h] : _mm256_mul_pd(gamma, sum[h]);
            if (s->kernel == SVM_POLY || s->kernel == SVM_SIGMOID) y = _mm256_add_pd(y, coef0);
            __m256d power = y;
            for (int d = 1; d < degree; d++) power = _mm256_mul_pd(power, y);
            _mm256_storeu_pd(k + i + 4 * (size_t)h, power);
        }
    }
    return i;
}
#else
static size_t arguments_fast(double *k, const svm *s, const double *x, const double *turned,
                             size_t count)
{
    (void)k, (void)s, (void)x, (void)turned, (void)count;
    return 0;
}
#endif

pgy_status svm_turn(double **turned, const svm *s, const op_eval *c, pgy_error *err)
{
    const float *vectors = s->vector_count ? s->vectors : s->coefficients;
    const size_t count = (s->vector_count ? s->vector_value_count : s->coefficient_count) /
                         (s->features ? s->features : 1);
    const pgy_status st =
        workspace_alloc((void **)turned, c, count * s->features, sizeof **turned, err);
    for (size_t i = 0; !st && i < count; i++)
        for (size_t f = 0; f < s->features; f++)
            (*turned)[f * count + i] = (double)vectors[i * s->features + f];
    return st;
}

void svm_kernels(double *k, const svm *s, const double *x, const double *turned, size_t count)
{
    const bool fast = cpu_features() >= CPU_AVX2;
    arguments(k, s, x, turned, fast ? arguments_fast(k, s, x, turned, count) : 0, count);
    if (s->kernel == SVM_RBF) vmath_exp(k, k, count);
    if (s->kernel == SVM_SIGMOID) vmath_tanh(k, k, count);
    for (size_t i = 0; s->kernel == SVM_POLY && !svm_small_degree(s) && i < count; i++)
        k[i] = pow(k[i], s->degree);
}

double svm_sum(const double *k, const float *weights, size_t count)
{
    double sums[4] = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (size_t j = 0; j < 4; j++) sums[j] += k[i + j] * (double)weights[i + j];
    for (; i < count; i++) sums[0] += k[i] * (double)weights[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

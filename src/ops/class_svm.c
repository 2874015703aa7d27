/* SPDX-License-Identifier: Apache-2.0 */
/* Support vector machines: attributes and kernel functions. */
#include "ops/class_svm.h"

#include <inttypes.h>
#include <math.h>

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

static double kernel(const svm *s, const double *x, const float *v)
{
    double sum = 0;
    for (size_t i = 0; i < s->features; i++) {
        const double d = x[i] - (double)v[i];
        sum += s->kernel == SVM_RBF ? d * d : x[i] * (double)v[i];
    }
    switch (s->kernel) {
    case SVM_LINEAR: return sum;
    case SVM_POLY: return pow(s->gamma * sum + s->coef0, s->degree);
    case SVM_RBF: return exp(-s->gamma * sum);
    default: return tanh(s->gamma * sum + s->coef0);
    }
}

void svm_kernels(double *k, const svm *s, const double *x, const float *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++) k[i] = kernel(s, x, vectors + i * s->features);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* SVMClassifier: one decision for each pair of classes from the kernel functions of the support
 * vectors, votes for the label, and probabilities by Platt's scaling; or, without support vectors,
 * one linear score per class. */
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "ops/class_svm.h"

static const op_attr_def ATTRS[] = {
    SVM_ATTRS,
    {"classlabels_ints", OP_ATTR_INTS, false, NULL},
    {"classlabels_strings", OP_ATTR_STRINGS, false, NULL},
    {"prob_a", OP_ATTR_FLOATS, false, NULL},
    {"prob_b", OP_ATTR_FLOATS, false, NULL},
    {"vectors_per_class", OP_ATTR_INTS, false, NULL},
    {NULL},
};

/* What the kernel functions and scores of one row need. */
typedef struct room {
    double *turned, *kernels, *decisions, *pairs, *matrix, *products;
    size_t *votes;
} room;

typedef struct classifier {
    svm s;
    const op_node *node;
    scores_labels labels;
    const int64_t *per_class;
    const float *prob_a, *prob_b;
    size_t classes, pairs, columns;
    scores_transform transform;
    bool probabilities, positive;
} classifier;

static pgy_status check_lists(const classifier *k, pgy_error *err)
{
    size_t rows, a, b;
    op_attr_floats(k->node, "prob_a", &a);
    op_attr_floats(k->node, "prob_b", &b);
    if (a != b || (a && a < k->pairs))
        return op_error(k->node, err, PGY_E_ARGUMENT,
                        "attributes prob_a and prob_b have %zu and %zu numbers, but need one for "
                        "each of %zu pairs of classes",
                        a, b, k->pairs);
    if (!k->s.vector_count) return PGY_OK;
    if (k->s.rho_count < k->pairs)
        return op_error(k->node, err, PGY_E_ARGUMENT,
                        "attribute rho has %zu numbers, but there are %zu pairs of classes",
                        k->s.rho_count, k->pairs);
    if (!size_mul(&rows, k->classes - 1, k->s.vector_count) || k->s.coefficient_count < rows)
        return op_error(k->node, err, PGY_E_ARGUMENT,
                        "attribute coefficients has %zu numbers, but %zu classes and %zu support "
                        "vectors need more",
                        k->s.coefficient_count, k->classes, k->s.vector_count);
    return PGY_OK;
}

static pgy_status count_vectors(int64_t *total, classifier *k, pgy_error *err)
{
    size_t count;
    k->per_class = op_attr_ints(k->node, "vectors_per_class", &count);
    *total = 0;
    for (size_t i = 0; i < count; i++)
        if (k->per_class[i] < 0 || !i64_add(total, *total, k->per_class[i]))
            return op_error(k->node, err, PGY_E_ARGUMENT,
                            "vectors_per_class[%zu] is %" PRId64 ", which is no number of vectors",
                            i, k->per_class[i]);
    if (*total && count != k->classes)
        return op_error(k->node, err, PGY_E_ARGUMENT,
                        "attribute vectors_per_class has %zu numbers, but there are %zu class "
                        "labels",
                        count, k->classes);
    return PGY_OK;
}

static pgy_status read(classifier *k, const op_node *n, pgy_error *err)
{
    int64_t vectors;
    size_t probs;
    *k = (classifier){.node = n, .transform = scores_transform_of(n), .positive = true};
    k->labels = scores_labels_of(n, "classlabels_strings", "classlabels_ints");
    k->classes = k->labels.count;
    if (!k->classes || k->classes > 65535)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "there are %zu class labels, but must be 1 to 65535", k->classes);
    k->pairs = k->classes * (k->classes - 1) / 2;
    pgy_status st = count_vectors(&vectors, k, err);
    if (!st) st = svm_init(&k->s, n, vectors, k->classes, err);
    if (!st) st = check_lists(k, err);
    if (st) return st;
    k->prob_a = op_attr_floats(n, "prob_a", &probs);
    k->prob_b = op_attr_floats(n, "prob_b", &probs);
    k->probabilities = probs > 0;
    for (size_t i = 0; i < k->s.coefficient_count; i++)
        if (!(k->s.coefficients[i] >= 0)) k->positive = false;
    const bool decisions = k->s.vector_count && !k->probabilities;
    k->columns = !decisions ? k->classes : k->classes > 2 ? k->pairs : 2;
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    classifier k;
    dim rows, features;
    pgy_status st = read(&k, c->node, err);
    if (!st) st = scores_infer_rows(c, &rows, &features, err);
    if (!st) st = svm_check_features(&k.s, c, features, err);
    if (!st) st = scores_infer_labels(c, &k.labels, rows, err);
    if (st) return st;
    return scores_infer_matrix(c, 1, PGY_F32, rows, dim_const((int64_t)k.columns), err);
}

/* Sum over the vectors of one class; `row` is the row of coefficients that decides against the
 * other class. */
static double class_sum(const classifier *k, const double *kernels, size_t row, size_t start,
                        int64_t count)
{
    return svm_sum(kernels + start, k->s.coefficients + row * k->s.vector_count + start,
                   (size_t)count);
}

/* Decides for each pair of classes and counts the votes. */
static void decide(const classifier *k, const room *r)
{
    size_t pair = 0, start_i = 0;
    for (size_t i = 0; i < k->classes; i++) r->votes[i] = 0;
    for (size_t i = 0; i + 1 < k->classes; i++) {
        size_t start_j = start_i + (size_t)k->per_class[i];
        for (size_t j = i + 1; j < k->classes; j++) {
            const double sum = class_sum(k, r->kernels, j - 1, start_i, k->per_class[i]) +
                               class_sum(k, r->kernels, i, start_j, k->per_class[j]) +
                               (double)k->s.rho[pair];
            r->decisions[pair++] = sum;
            r->votes[sum > 0 ? i : j]++;
            start_j += (size_t)k->per_class[j];
        }
        start_i += (size_t)k->per_class[i];
    }
}

/* One round of the iteration below; true once the products are equal. */
static bool improve(double *p, const room *r, size_t n)
{
    const double *q = r->matrix;
    double total = 0, worst = 0;
    for (size_t i = 0; i < n; i++) {
        r->products[i] = 0;
        for (size_t j = 0; j < n; j++) r->products[i] += q[i * n + j] * p[j];
        total += p[i] * r->products[i];
    }
    for (size_t i = 0; i < n; i++) worst = fmax(worst, fabs(r->products[i] - total));
    if (worst < 0.005 / (double)n) return true;
    for (size_t i = 0; i < n; i++) {
        const double d = (total - r->products[i]) / q[i * n + i];
        p[i] += d;
        total = (total + d * (d * q[i * n + i] + 2 * r->products[i])) / (1 + d) / (1 + d);
        for (size_t j = 0; j < n; j++) {
            r->products[j] = (r->products[j] + d * q[i * n + j]) / (1 + d);
            p[j] /= 1 + d;
        }
    }
    return false;
}

/* Class probabilities from those of the pairs: Wu, Lin and Weng, "Probability estimates for
 * multi-class classification by pairwise coupling", as in LIBSVM. */
static void couple(double *p, const room *r, size_t n)
{
    const double *pairs = r->pairs;
    for (size_t i = 0; i < n; i++) {
        p[i] = 1 / (double)n;
        r->matrix[i * n + i] = 0;
        for (size_t j = 0; j < n; j++) {
            if (j == i) continue;
            r->matrix[i * n + i] += pairs[j * n + i] * pairs[j * n + i];
            r->matrix[i * n + j] = -pairs[j * n + i] * pairs[i * n + j];
        }
    }
    for (int round = 0; round < 100 && !improve(p, r, n); round++) continue;
}

static void estimate(double *p, const classifier *k, const room *r)
{
    const size_t n = k->classes;
    size_t pair = 0;
    for (size_t i = 0; i + 1 < n; i++)
        for (size_t j = i + 1; j < n; j++, pair++) {
            const double x = r->decisions[pair] * (double)k->prob_a[pair] + (double)k->prob_b[pair];
            const double v = fmin(fmax(1 - scores_logistic(x), 1e-7), 1 - 1e-7);
            r->pairs[i * n + j] = v;
            r->pairs[j * n + i] = 1 - v;
        }
    couple(p, r, n);
}

/* The label of a row whose scores are y, before they are transformed. */
static size_t choose(const classifier *k, const room *r, const double *y)
{
    const bool votes = k->s.vector_count > 0;
    size_t best = 0;
    for (size_t i = 1; i < k->classes; i++)
        if (votes ? r->votes[i] > r->votes[best] : y[i] > y[best]) best = i;
    if (votes || k->classes != 2 || k->probabilities) return best;
    if (k->positive ? y[best] >= 0.5 : y[best] > 0) return 1;
    return best;
}

static pgy_status run_row(op_eval *c, const classifier *k, const room *r, const double *x,
                          size_t row, pgy_error *err)
{
    double *y = out_f64(c, 1) + row * k->columns;
    const bool decisions = k->s.vector_count && !k->probabilities;
    if (k->s.vector_count) {
        svm_kernels(r->kernels, &k->s, x, r->turned, k->s.vector_count);
        decide(k, r);
    } else {
        svm_kernels(y, &k->s, x, r->turned, k->classes);
        for (size_t i = 0; i < k->classes; i++) y[i] += (double)k->s.rho[0];
    }
    if (k->s.vector_count && k->probabilities) estimate(y, k, r);
    for (size_t i = 0; decisions && i < k->pairs; i++) y[i] = r->decisions[i];
    const size_t best = choose(k, r, y);
    if (decisions && k->classes <= 2)
        scores_apply_single(y, k->transform,
                            k->transform == SCORES_NONE ? SCORES_OPPOSITE : SCORES_COMPLEMENT);
    else if (k->columns == 1)
        scores_apply_single(y, k->transform, SCORES_SINGLE);
    else
        scores_apply(y, k->columns, k->transform);
    return scores_put_label(c, row, &k->labels, best, err);
}

static pgy_status make_room(room *r, const op_eval *c, const classifier *k, pgy_error *err)
{
    const size_t n = k->classes, square = k->probabilities ? n * n : 0;
    pgy_status st = svm_turn(&r->turned, &k->s, c, err);
    if (!st) st = workspace_alloc((void **)&r->kernels, c, k->s.vector_count, sizeof(double), err);
    if (!st) st = workspace_alloc((void **)&r->decisions, c, k->pairs, sizeof(double), err);
    if (!st) st = workspace_alloc((void **)&r->pairs, c, square, sizeof(double), err);
    if (!st) st = workspace_alloc((void **)&r->matrix, c, square, sizeof(double), err);
    if (!st) st = workspace_alloc((void **)&r->products, c, n, sizeof(double), err);
    if (!st) st = workspace_alloc((void **)&r->votes, c, n, sizeof(size_t), err);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    classifier k;
    room r = {0};
    size_t rows, features;
    const double *x;
    double *copy = NULL;
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = read(&k, c->node, err);
    if (!st) st = scores_rows(&rows, &features, c, err);
    if (!st) st = scores_input(&x, &copy, c, PGY_F64, err);
    if (!st) st = make_room(&r, c, &k, err);
    for (size_t i = 0; !st && i < rows; i++) {
        st = run_row(c, &k, &r, x + i * features, i, err);
        if (!st) st = cancel_check(err);
    }
    mem_free(copy);
    mem_free(r.turned);
    mem_free(r.kernels);
    mem_free(r.decisions);
    mem_free(r.pairs);
    mem_free(r.matrix);
    mem_free(r.products);
    mem_free(r.votes);
    return st;
}

const op_def OP_svm_classifier[] = {
    {"SVMClassifier", "ai.onnx.ml", 1, 0, 1, 1, 2, 2, 0, ATTRS, SCORES_TYPES, infer, eval, NULL,
     .signature = "T1 = " SCORES_TYPES "; T2 = string int64; X:T1 -> Y:T2, Z:float32"},
    {NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* The end of SVMClassifier: votes, labels, probabilities and scores of a row, from a decision for
 * each pair of classes. */
#include <math.h>

#include "ops/class_svm.h"

/* Without vectors, scores need no room, however many pairs there are. */
static size_t square_of(const svm_classes *k)
{
    return k->has_vectors && k->probabilities ? k->classes * k->classes : 0;
}

size_t svm_room_count(const svm_classes *k)
{
    return k->has_vectors ? k->pairs + 2 * square_of(k) + 2 * k->classes : 0;
}

svm_room svm_room_of(const svm_classes *k, double *numbers)
{
    svm_room r = {.decisions = numbers};
    if (!k->has_vectors) return r;
    r.pairs = r.decisions + k->pairs;
    r.matrix = r.pairs + square_of(k);
    r.products = r.matrix + square_of(k);
    r.votes = r.products + k->classes;
    return r;
}

static void count_votes(const svm_classes *k, const svm_room *r)
{
    size_t pair = 0;
    for (size_t i = 0; i < k->classes; i++) r->votes[i] = 0;
    for (size_t i = 0; i + 1 < k->classes; i++)
        for (size_t j = i + 1; j < k->classes; j++) r->votes[r->decisions[pair++] > 0 ? i : j]++;
}

/* One round of the iteration below; true once the products are equal. */
static bool improve(double *p, const svm_room *r, size_t n)
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
static void couple(double *p, const svm_room *r, size_t n)
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

static void estimate(double *p, const svm_classes *k, const svm_room *r)
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
static size_t choose(const svm_classes *k, const svm_room *r, const double *y)
{
    const bool votes = k->has_vectors;
    size_t best = 0;
    if (votes && k->classes == 2) return !(r->decisions[0] > 0);
    for (size_t i = 1; i < k->classes; i++)
        if (votes ? r->votes[i] > r->votes[best] : y[i] > y[best]) best = i;
    if (votes || k->classes != 2 || k->probabilities) return best;
    if (k->positive ? y[best] >= 0.5 : y[best] > 0) return 1;
    return best;
}

size_t svm_finish_classes(double *y, const svm_classes *k, const svm_room *r)
{
    const bool decisions = k->has_vectors && !k->probabilities;
    if (k->has_vectors && k->classes != 2) count_votes(k, r);
    if (k->has_vectors && k->probabilities) estimate(y, k, r);
    for (size_t i = 0; decisions && i < k->pairs; i++) y[i] = r->decisions[i];
    const size_t best = choose(k, r, y);
    if (decisions && k->classes <= 2)
        scores_apply_single(y, k->transform,
                            k->transform == SCORES_NONE ? SCORES_OPPOSITE : SCORES_COMPLEMENT);
    else if (k->columns == 1)
        scores_apply_single(y, k->transform, SCORES_SINGLE);
    else
        scores_apply(y, k->columns, k->transform);
    return best;
}

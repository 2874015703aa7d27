/* SPDX-License-Identifier: Apache-2.0 */
/* SVMClassifier: one decision for each pair of classes from the kernel functions of the support
 * vectors, votes for the label, and probabilities by Platt's scaling; or, without support vectors,
 * one linear score per class. */
#include <inttypes.h>

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
typedef struct memory {
    double *turned, *kernels, *numbers;
    svm_room room; /* in `numbers` */
} memory;

static pgy_status check_lists(const svm_classifier *c, pgy_error *err)
{
    size_t rows, a, b;
    op_attr_floats(c->node, "prob_a", &a);
    op_attr_floats(c->node, "prob_b", &b);
    if (a != b || (a && a < c->k.pairs))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attributes prob_a and prob_b have %zu and %zu numbers, but need one for "
                        "each of %zu pairs of classes",
                        a, b, c->k.pairs);
    if (!c->s.vector_count) return PGY_OK;
    if (c->s.rho_count < c->k.pairs)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute rho has %zu numbers, but there are %zu pairs of classes",
                        c->s.rho_count, c->k.pairs);
    if (!size_mul(&rows, c->k.classes - 1, c->s.vector_count) || c->s.coefficient_count < rows)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute coefficients has %zu numbers, but %zu classes and %zu support "
                        "vectors need more",
                        c->s.coefficient_count, c->k.classes, c->s.vector_count);
    return PGY_OK;
}

static pgy_status count_vectors(int64_t *total, svm_classifier *c, pgy_error *err)
{
    size_t count;
    c->per_class = op_attr_ints(c->node, "vectors_per_class", &count);
    *total = 0;
    for (size_t i = 0; i < count; i++)
        if (c->per_class[i] < 0 || !i64_add(total, *total, c->per_class[i]))
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "vectors_per_class[%zu] is %" PRId64 ", which is no number of vectors",
                            i, c->per_class[i]);
    if (*total && count != c->k.classes)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute vectors_per_class has %zu numbers, but there are %zu class "
                        "labels",
                        count, c->k.classes);
    return PGY_OK;
}

pgy_status svm_classifier_init(svm_classifier *c, const op_node *n, pgy_error *err)
{
    int64_t vectors;
    size_t probs;
    *c = (svm_classifier){.node = n};
    c->k = (svm_classes){.transform = scores_transform_of(n), .positive = true};
    c->labels = scores_labels_of(n, "classlabels_strings", "classlabels_ints");
    c->k.classes = c->labels.count;
    if (!c->k.classes || c->k.classes > 65535)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "there are %zu class labels, but must be 1 to 65535", c->k.classes);
    c->k.pairs = c->k.classes * (c->k.classes - 1) / 2;
    pgy_status st = count_vectors(&vectors, c, err);
    if (!st) st = svm_init(&c->s, n, vectors, c->k.classes, err);
    if (!st) st = check_lists(c, err);
    if (st) return st;
    c->k.prob_a = op_attr_floats(n, "prob_a", &probs);
    c->k.prob_b = op_attr_floats(n, "prob_b", &probs);
    c->k.probabilities = probs > 0;
    for (size_t i = 0; i < c->s.coefficient_count; i++)
        if (!(c->s.coefficients[i] >= 0)) c->k.positive = false;
    c->k.has_vectors = c->s.vector_count > 0;
    const bool decisions = c->k.has_vectors && !c->k.probabilities;
    c->k.columns = !decisions ? c->k.classes : c->k.classes > 2 ? c->k.pairs : 2;
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    svm_classifier k;
    dim rows, features;
    pgy_status st = svm_classifier_init(&k, c->node, err);
    if (!st) st = scores_infer_rows(c, &rows, &features, err);
    if (!st) st = svm_check_features(&k.s, c, features, err);
    if (!st) st = scores_infer_labels(c, &k.labels, rows, err);
    if (st) return st;
    return scores_infer_matrix(c, 1, PGY_F32, rows, dim_const((int64_t)k.k.columns), err);
}

/* Sum over the vectors of one class; `row` is the row of coefficients that decides against the
 * other class. */
static double class_sum(const svm_classifier *k, const double *kernels, size_t row, size_t start,
                        int64_t count)
{
    return svm_sum(kernels + start, k->s.coefficients + row * k->s.vector_count + start,
                   (size_t)count);
}

/* Decides for each pair of classes. */
static void decide(const svm_classifier *k, const memory *m)
{
    size_t pair = 0, start_i = 0;
    for (size_t i = 0; i + 1 < k->k.classes; i++) {
        size_t start_j = start_i + (size_t)k->per_class[i];
        for (size_t j = i + 1; j < k->k.classes; j++) {
            m->room.decisions[pair] = class_sum(k, m->kernels, j - 1, start_i, k->per_class[i]) +
                                      class_sum(k, m->kernels, i, start_j, k->per_class[j]) +
                                      (double)k->s.rho[pair];
            pair++;
            start_j += (size_t)k->per_class[j];
        }
        start_i += (size_t)k->per_class[i];
    }
}

static pgy_status run_row(op_eval *c, const svm_classifier *k, const memory *m, const double *x,
                          size_t row, pgy_error *err)
{
    double *y = out_f64(c, 1) + row * k->k.columns;
    if (k->s.vector_count) {
        svm_kernels(m->kernels, &k->s, x, m->turned, k->s.vector_count);
        decide(k, m);
    } else {
        svm_kernels(y, &k->s, x, m->turned, k->k.classes);
        for (size_t i = 0; i < k->k.classes; i++) y[i] += (double)k->s.rho[0];
    }
    return scores_put_label(c, row, &k->labels, svm_finish_classes(y, &k->k, &m->room), err);
}

static pgy_status make_memory(memory *m, const op_eval *c, const svm_classifier *k, pgy_error *err)
{
    pgy_status st = svm_turn(&m->turned, &k->s, c, err);
    if (!st) st = workspace_alloc((void **)&m->kernels, c, k->s.vector_count, sizeof(double), err);
    if (!st)
        st = workspace_alloc((void **)&m->numbers, c, svm_room_count(&k->k), sizeof(double), err);
    if (!st) m->room = svm_room_of(&k->k, m->numbers);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    svm_classifier k;
    memory m = {0};
    size_t rows, features;
    const double *x;
    double *copy = NULL;
    pgy_status st = inputs_check(c, "!", err);
    if (!st) st = svm_classifier_init(&k, c->node, err);
    if (!st) st = scores_rows(&rows, &features, c, err);
    if (!st) st = scores_input(&x, &copy, c, PGY_F64, err);
    if (!st) st = make_memory(&m, c, &k, err);
    for (size_t i = 0; !st && i < rows; i++) {
        st = run_row(c, &k, &m, x + i * features, i, err);
        if (!st) st = cancel_check(err);
    }
    mem_free(copy);
    mem_free(m.turned);
    mem_free(m.kernels);
    mem_free(m.numbers);
    return st;
}

const op_def OP_svm_classifier[] = {
    {"SVMClassifier", "ai.onnx.ml", 1, 0, 1, 1, 2, 2, 0, ATTRS, SCORES_TYPES, infer, eval, NULL,
     .signature = "T1 = " SCORES_TYPES "; T2 = string int64; X:T1 -> Y:T2, Z:float32"},
    {NULL},
};

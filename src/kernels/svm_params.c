/* SPDX-License-Identifier: Apache-2.0 */
/* Making and checking the parameters of the kernel for support vector machines. */
#include "kernels/svm.h"

#include <string.h>

#include "base/alloc.h"

enum {
    MOST_DEGREE = 8,
    MOST_CLASSES = 65535,
    LEAST_ROWS = 8,
    MOST_ROWS = 64,
    MOST_BLOCK_BYTES = 1 << 20
};

/* ---- Places --------------------------------------------------------------------------------- */

/* Sizes of an attacker may give an address that is none; it is not used then. */
static const void *at_offset(const svm_params *p, uint64_t at)
{
    return (const void *)((uintptr_t)p + at);
}

/* Sets the arrays' places behind the header; returns the bytes in all. */
static uint64_t place(svm_view *v, const svm_params *p)
{
    const uint64_t probabilities = p->probabilities ? p->pairs : 0;
    uint64_t at = sizeof *p;
    v->p = p;
    v->labels = at_offset(p, at);
    at = extent_add(at, extent_mul(p->classes, sizeof(int64_t)));
    v->per_class = at_offset(p, at);
    at = extent_add(at, extent_mul(p->classes, sizeof(uint64_t)));
    v->rho = at_offset(p, at);
    at = extent_add(at, extent_mul(p->rhos, sizeof(float)));
    v->prob_a = at_offset(p, at);
    at = extent_add(at, extent_mul(probabilities, sizeof(float)));
    v->prob_b = at_offset(p, at);
    at = extent_add(at, extent_mul(probabilities, sizeof(float)));
    v->coefficients = at_offset(p, at);
    at = extent_add(at, extent_mul3(p->coefficient_rows, p->vectors, sizeof(float)));
    v->turned = at_offset(p, at);
    return extent_add(at, extent_mul3(p->features, p->padded, sizeof(float)));
}

svm_view svm_view_of(const void *params)
{
    svm_view v;
    (void)place(&v, params);
    return v;
}

svm_classes svm_classes_of(const svm_view *v)
{
    const svm_params *p = v->p;
    return (svm_classes){.prob_a = v->prob_a,
                         .prob_b = v->prob_b,
                         .classes = p->classes,
                         .pairs = p->pairs,
                         .columns = p->columns,
                         .transform = (scores_transform)p->transform,
                         .has_vectors = p->has_vectors != 0,
                         .probabilities = p->probabilities != 0,
                         .positive = p->positive != 0};
}

uint64_t svm_kernel_bytes(const svm_params *p)
{
    return extent_mul3(p->block, p->padded, sizeof(float));
}

uint64_t svm_numbers(const svm_params *p)
{
    if (!p->classes) return 0;
    const svm_classes k = {.classes = p->classes,
                           .pairs = p->pairs,
                           .has_vectors = p->has_vectors != 0,
                           .probabilities = p->probabilities != 0};
    return extent_add(svm_room_count(&k), extent_add(p->columns, 2));
}

/* ---- Making --------------------------------------------------------------------------------- */

typedef struct source {
    const svm *s;
    const svm_classifier *c; /* NULL: a regressor */
} source;

static void read_source(svm_params *p, const source *from, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    const svm *s = from->s;
    *p = (svm_params){.rows = x->rank == 2 ? (uint64_t)x->shape[0] : 1,
                      .features = s->features,
                      .vectors = s->vector_count,
                      .level = u->self->needs,
                      .kernel = (uint32_t)s->kernel,
                      .degree = s->kernel == SVM_POLY ? (uint32_t)svm_small_degree(s) : 1,
                      .has_vectors = s->vector_count > 0,
                      .gamma = (float)s->gamma,
                      .coef0 = (float)s->coef0,
                      .power = (float)s->degree,
                      .rhos = 1,
                      .columns = 1,
                      .coefficient_rows = 1};
    if (s->kernel == SVM_RBF) p->gamma = -p->gamma;
    if (s->kernel == SVM_RBF) p->coef0 = 0;
    if (from->c) {
        const svm_classes *k = &from->c->k;
        p->classes = k->classes;
        p->pairs = k->pairs;
        p->columns = k->columns;
        p->transform = k->transform;
        p->probabilities = k->probabilities;
        p->positive = k->positive;
        if (p->has_vectors) p->rhos = k->pairs;
        p->coefficient_rows = k->classes - 1;
    } else {
        p->one_class = op_attr_int(u->node, "one_class", 0) != 0;
    }
    const uint64_t sums = from->c ? p->pairs : 1;
    p->joined = p->has_vectors && s->kernel == SVM_LINEAR && sums && sums <= p->vectors;
    if (p->joined) p->vectors = sums;
    if (!p->has_vectors) p->vectors = from->c ? p->classes : 1;
    if (p->joined || !p->has_vectors) p->coefficient_rows = 0;
    p->padded = extent_round_up(p->vectors, SVM_PAD);
    p->block = MOST_BLOCK_BYTES / sizeof(float) / p->padded;
    if (p->block < LEAST_ROWS) p->block = LEAST_ROWS;
    if (p->block > MOST_ROWS) p->block = MOST_ROWS;
    if (p->block > p->rows) p->block = p->rows;
}

/* The sum over the vectors of one class, times a row of coefficients, of one feature. */
static double joined_sum(const svm *s, size_t row, size_t start, size_t count, size_t feature)
{
    double sum = 0;
    for (size_t i = start; i < start + count; i++)
        sum += (double)s->coefficients[row * s->vector_count + i] *
               (double)s->vectors[i * s->features + feature];
    return sum;
}

/* Linear decisions are products with one vector each. */
static void join_vectors(float *turned, const svm_params *p, const source *from)
{
    const svm *s = from->s;
    for (size_t f = 0; f < p->features && !from->c; f++)
        turned[f * p->padded] = (float)joined_sum(s, 0, 0, s->vector_count, f);
    if (!from->c) return;
    const int64_t *counts = from->c->per_class;
    size_t pair = 0, start_i = 0;
    for (size_t i = 0; i + 1 < p->classes; start_i += (size_t)counts[i++]) {
        size_t start_j = start_i + (size_t)counts[i];
        for (size_t j = i + 1; j < p->classes; start_j += (size_t)counts[j++], pair++)
            for (size_t f = 0; f < p->features; f++)
                turned[f * p->padded + pair] =
                    (float)(joined_sum(s, j - 1, start_i, (size_t)counts[i], f) +
                            joined_sum(s, i, start_j, (size_t)counts[j], f));
    }
}

static void fill(svm_view *v, const source *from)
{
    const svm_params *p = v->p;
    const svm *s = from->s;
    float *turned = (float *)v->turned;
    memcpy((float *)v->rho, s->rho, p->rhos * sizeof(float));
    for (size_t i = 0; i < p->classes; i++) {
        const scores_labels *l = &from->c->labels;
        ((int64_t *)v->labels)[i] = l->ints ? l->ints[i] : (int64_t)i;
        if (p->has_vectors) ((uint64_t *)v->per_class)[i] = (uint64_t)from->c->per_class[i];
    }
    if (p->probabilities) {
        memcpy((float *)v->prob_a, from->c->k.prob_a, p->pairs * sizeof(float));
        memcpy((float *)v->prob_b, from->c->k.prob_b, p->pairs * sizeof(float));
    }
    if (p->joined) {
        join_vectors(turned, p, from);
        return;
    }
    const float *vectors = p->has_vectors ? s->vectors : s->coefficients;
    if (p->coefficient_rows)
        memcpy((float *)v->coefficients, s->coefficients,
               p->coefficient_rows * p->vectors * sizeof(float));
    for (size_t i = 0; i < p->vectors; i++)
        for (size_t f = 0; f < p->features; f++)
            turned[f * p->padded + i] = vectors[i * p->features + f];
}

bool svm_params_make(svm_params **out, size_t *bytes, const kernel_problem *u)
{
    const bool classifies = strcmp(u->node->def->name, "SVMClassifier") == 0;
    svm_classifier c;
    svm s;
    svm_params p;
    svm_view v;
    const pgy_status st =
        classifies ? svm_classifier_init(&c, u->node, NULL) : svm_regressor_init(&s, u->node, NULL);
    const source from = {classifies ? &c.s : &s, classifies ? &c : NULL};
    if (st || !from.s->features) return false;
    read_source(&p, &from, u);
    const uint64_t size = place(&v, &p);
    svm_params *made = size > SIZE_MAX / 2 ? NULL : mem_calloc(1, size);
    if (!made) return false;
    *made = p;
    (void)place(&v, made);
    fill(&v, &from);
    *out = made;
    *bytes = size;
    return true;
}

/* ---- Checking ------------------------------------------------------------------------------- */

static bool check_classes(kernel_extent *e, const svm_view *v)
{
    const svm_params *p = v->p;
    const bool decisions = p->has_vectors && !p->probabilities;
    uint64_t sum = 0;
    if (!p->classes)
        return (p->columns == 1 && p->rhos == 1 && !p->pairs && !p->probabilities) ||
               extent_refuse(e, "columns");
    if (p->classes > MOST_CLASSES || p->pairs != p->classes * (p->classes - 1) / 2 ||
        p->columns != (!decisions       ? p->classes
                       : p->classes > 2 ? p->pairs
                                        : 2) ||
        p->rhos != (p->has_vectors ? p->pairs : 1) || p->one_class)
        return extent_refuse(e, "classes");
    if (!p->has_vectors || p->joined) return true;
    for (uint64_t i = 0; i < p->classes; i++) sum = extent_add(sum, v->per_class[i]);
    return sum == p->vectors || extent_refuse(e, "vectors of classes");
}

bool svm_params_check(kernel_extent *e, const svm_params *p, uint64_t bytes)
{
    svm_view v;
    if (!extent_level(e, p->level) || !extent_enum(e, p->kernel, SVM_SIGMOID + 1, "kernel") ||
        !extent_enum(e, p->transform, SCORES_PROBIT + 1, "transform"))
        return false;
    if (p->degree > MOST_DEGREE || (!p->degree && p->kernel != SVM_POLY))
        return extent_refuse(e, "degree");
    const uint64_t sums = p->classes ? p->pairs : 1;
    const bool sums_only = p->joined || !p->has_vectors;
    if (!p->rows || !p->features || !p->vectors ||
        p->padded != extent_round_up(p->vectors, SVM_PAD) || !p->block || p->block > MOST_ROWS ||
        (p->joined && (!p->has_vectors || p->vectors != sums)) ||
        (!p->has_vectors && p->vectors != (p->classes ? p->classes : 1)) ||
        (sums_only && p->kernel != SVM_LINEAR) ||
        p->coefficient_rows != (sums_only    ? 0
                                : p->classes ? p->classes - 1
                                             : 1))
        return extent_refuse(e, "vectors");
    if (place(&v, p) != bytes) return extent_refuse(e, "size of the parameters");
    return check_classes(e, &v);
}

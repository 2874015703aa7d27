/* SPDX-License-Identifier: Apache-2.0 */
/* SVMClassifier and SVMRegressor of float32 features. Dot products or squared distances of a block
 * of rows with all support vectors, then kernel functions over the whole block, in float32; sums
 * over vectors, votes and probabilities in float64, row by row, so results depend neither on blocks
 * nor on threads. Distances are sums of squared differences, as in ONNX Runtime: that of norms and
 * products would cancel where features are far from 0. Decisions of linear machines are products
 * with one vector each, summed up from the support vectors when the kernel is prepared. */
#include "kernels/svm.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/vec_math.h"

/* PART_WORK: multiplications that are worth a part; GROUP: rows. */
enum { PART_WORK = 65536, MAX_PARTS = 256, GROUP = 8 };

static const svm_loops *svm_loops_of(uint32_t level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &svm_loops_avx512;
    if (level >= CPU_AVX2) return &svm_loops_avx2;
#endif
    (void)level;
    return &svm_loops_portable;
}

/* ---- The problem ---------------------------------------------------------------------------- */

static bool svm_accept(kernel_problem *u, double *cost_ns)
{
    const kernel_tensor *x = &u->inputs[0];
    const bool classifies = strcmp(u->node->def->name, "SVMClassifier") == 0;
    svm_classifier c;
    svm s;
    if (x->dtype != PGY_F32 || x->rank < 1 || x->rank > 2 || !kernel_count(x)) return false;
    if (classifies ? svm_classifier_init(&c, u->node, NULL) : svm_regressor_init(&s, u->node, NULL))
        return false;
    for (size_t i = 0; i < u->output_count; i++) {
        const pgy_dtype type = u->outputs[i].dtype;
        if (type && type != (classifies && i == 0 ? PGY_I64 : PGY_F32)) return false;
        u->outputs[i].layout = KERNEL_LINEAR;
    }
    u->inputs[0].layout = KERNEL_LINEAR;
    const double vectors = (double)(classifies ? c.s.vector_count : s.vector_count) + 1;
    const double rows = x->rank == 2 ? (double)x->shape[0] : 1;
    const double features = (double)x->shape[x->rank - 1];
    *cost_ns = 200 + rows * vectors * (features + 10) * u->self->rates[0];
    return true;
}

static pgy_status svm_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    svm_params *p;
    size_t bytes;
    if (!svm_params_make(&p, &bytes, u)) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *out = (kernel_plan){.params = p, .params_bytes = bytes, .phases = 1, .in_place = -1};
    out->scratch_bytes = svm_kernel_bytes(p) + svm_numbers(p) * sizeof(double);
    const uint64_t worth = p->rows * p->padded * p->features / PART_WORK + 1;
    const uint64_t groups = (p->rows + GROUP - 1) / GROUP;
    const uint64_t most = groups < MAX_PARTS ? groups : MAX_PARTS;
    out->parts = (uint32_t)(worth < most ? worth : most);
    return PGY_OK;
}

static bool svm_extent(kernel_extent *e, const kernel_claim *q)
{
    const svm_params *p = q->params;
    if (q->params_bytes < sizeof *p) return extent_refuse(e, "size of the parameters");
    if (!svm_params_check(e, p, q->params_bytes)) return false;
    const uint32_t scores = p->classes ? 2 : 1;
    if (q->input_count != 1 || q->output_count != scores)
        return extent_refuse(e, "number of operands");
    extent_tensor(e, 0, extent_mul(p->rows, p->features), sizeof(float));
    if (p->classes && extent_has(q, 1)) extent_tensor(e, 1, p->rows, sizeof(int64_t));
    if (extent_has(q, scores))
        extent_tensor(e, scores, extent_mul(p->rows, p->columns), sizeof(float));
    e->scratch = extent_add(svm_kernel_bytes(p), extent_mul(svm_numbers(p), sizeof(double)));
    return true;
}

/* ---- Kernel functions ----------------------------------------------------------------------- */

/* k = kernel functions of `rows` rows from x on, at most a block. */
static void svm_block(const svm_view *v, const svm_loops *loops, float *k, const float *x,
                      size_t rows)
{
    const svm_params *p = v->p;
    const vec_math *math = vec_math_of((cpu_level)p->level);
    const size_t count = rows * p->padded;
    for (size_t at = 0; at < p->padded && !cancel_requested(); at += SVM_PAD)
        loops->tile(&(svm_tile){.to = k + at,
                                .x = x,
                                .turned = v->turned + at,
                                .padded = p->padded,
                                .features = p->features,
                                .rows = rows,
                                .squares = p->kernel == SVM_RBF});
    if (p->kernel == SVM_LINEAR) return;
    loops->power(k, count, &(svm_power){p->gamma, p->coef0, p->degree});
    if (p->kernel == SVM_RBF) math->exp(k, k, count);
    if (p->kernel == SVM_SIGMOID) math->tanh(k, k, count);
    for (size_t i = 0; !p->degree && i < count; i++)
        k[i] = (float)pow((double)k[i], (double)p->power);
}

/* ---- Results -------------------------------------------------------------------------------- */

static double class_sum(const svm_view *v, const svm_loops *loops, const float *k, size_t row,
                        size_t start, size_t count)
{
    return loops->dot(k + start, v->coefficients + row * v->p->vectors + start, count);
}

static void decide(const svm_view *v, const svm_loops *loops, double *decisions, const float *k)
{
    const svm_params *p = v->p;
    size_t pair = 0, start_i = 0;
    for (size_t i = 0; p->joined && i < p->pairs; i++)
        decisions[i] = (double)k[i] + (double)v->rho[i];
    for (size_t i = 0; !p->joined && i + 1 < p->classes; start_i += v->per_class[i++]) {
        size_t start_j = start_i + v->per_class[i];
        for (size_t j = i + 1; j < p->classes; start_j += v->per_class[j++], pair++)
            decisions[pair] = class_sum(v, loops, k, j - 1, start_i, v->per_class[i]) +
                              class_sum(v, loops, k, i, start_j, v->per_class[j]) +
                              (double)v->rho[pair];
    }
}

/* Rows [row, row + rows), whose kernel functions are k. */
static void classify(const svm_view *v, const svm_loops *loops, const kernel_run *r, const float *k,
                     size_t row, size_t rows)
{
    const svm_params *p = v->p;
    double *numbers = (double *)((char *)r->scratch + svm_kernel_bytes(p));
    const svm_classes classes = svm_classes_of(v);
    const svm_room room = svm_room_of(&classes, numbers);
    double *y = numbers + svm_room_count(&classes);
    float *scores = r->tensors[2];
    int64_t *labels = r->tensors[1];
    y[0] = y[1] = 0; /* one class has no decisions, but two scores */
    for (; rows-- > 0; row++, k += p->padded) {
        if (p->has_vectors) decide(v, loops, room.decisions, k);
        for (size_t i = 0; !p->has_vectors && i < p->classes; i++)
            y[i] = (double)k[i] + (double)v->rho[0];
        const size_t label = svm_finish_classes(y, &classes, &room);
        if (labels) labels[row] = v->labels[label];
        for (size_t i = 0; scores && i < p->columns; i++)
            scores[row * p->columns + i] = (float)y[i];
    }
}

static void regress(const svm_view *v, const svm_loops *loops, const kernel_run *r, const float *k,
                    size_t row, size_t rows)
{
    const svm_params *p = v->p;
    float *y = r->tensors[1];
    for (; y && rows-- > 0; row++, k += p->padded) {
        const double sum =
            p->coefficient_rows ? loops->dot(k, v->coefficients, p->vectors) : (double)k[0];
        const double result = sum + (double)v->rho[0];
        y[row] = !p->one_class ? (float)result : result > 0 ? 1 : -1;
    }
}

static void svm_run(const kernel_run *r)
{
    const svm_view v = svm_view_of(r->params);
    const svm_params *p = v.p;
    const svm_loops *loops = svm_loops_of(p->level);
    const float *x = r->tensors[0];
    float *k = r->scratch;
    size_t from, to;
    kernel_share(&from, &to, p->rows, r->part, r->parts);
    for (size_t row = from, rows; row < to && !cancel_requested(); row += rows) {
        rows = to - row < p->block ? to - row : p->block;
        svm_block(&v, loops, k, x + row * p->features, rows);
        if (p->classes)
            classify(&v, loops, r, k, row, rows);
        else
            regress(&v, loops, r, k, row, rows);
    }
}

#define ROW(suffix, level, each)                                                       \
    {                                                                                  \
        .name = "svm_" #suffix, .version = 1,                                          \
        .ops = "ai.onnx.ml:SVMClassifier ai.onnx.ml:SVMRegressor", .needs = level,     \
        .rates = {each}, .accept = svm_accept, .prepare = svm_prepare, .run = svm_run, \
        .extent = svm_extent                                                           \
    }
const kernel KERNELS_svm[] = {
    ROW(portable, CPU_PORTABLE, 0.2),
    ROW(avx2, CPU_AVX2, 0.04),
    ROW(avx512, CPU_AVX512, 0.02),
    {0},
};

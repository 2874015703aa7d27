/* SPDX-License-Identifier: Apache-2.0 */
/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. The first phase finds the loss of each
 * sample, with the logarithm of its softmax if the operator has one; the second one adds them in
 * their order, on one thread, in float64. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/vec_math.h"

enum { SCORES, LABELS, WEIGHTS };
enum { COLUMNS = 256 }; /* samples that are neighbours in memory, and pieces of one sample */
enum { LOSS_EACH, LOSS_SUM, LOSS_MEAN, LOSS_REDUCTIONS };

/* Scores are [outer, classes, inner]. */
typedef struct params {
    uint64_t outer, classes, inner;
    int64_t ignored;
    uint32_t inputs, level, reduction;
    uint32_t ignores, wide, softmax, keeps; /* wide: labels are int64; keeps: output 1 is given */
} params;

static bool loss_describe(params *p, const kernel_problem *u)
{
    static const char *const REDUCTIONS[] = {"none", "sum", "mean"};
    const kernel_tensor *x = &u->inputs[SCORES], *labels = &u->inputs[LABELS];
    *p = (params){.outer = 1, .inner = 1, .inputs = (uint32_t)u->input_count};
    p->level = u->self->needs;
    p->softmax = u->node->def->name[0] == 'S';
    p->keeps = u->output_count > 1 && u->outputs[1].dtype;
    p->wide = labels->dtype == PGY_I64;
    p->ignores = op_attr_find(u->node, "ignore_index") != NULL;
    p->ignored = op_attr_int(u->node, "ignore_index", 0);
    while (p->reduction < LOSS_REDUCTIONS &&
           !op_attr_is(u->node, "reduction", REDUCTIONS[p->reduction], "mean"))
        p->reduction++;
    if (p->reduction == LOSS_REDUCTIONS || x->dtype != PGY_F32 || x->rank < 2) return false;
    if (labels->dtype != PGY_I64 && labels->dtype != PGY_I32) return false;
    if (u->input_count > 2 && u->inputs[WEIGHTS].dtype && u->inputs[WEIGHTS].dtype != PGY_F32)
        return false;
    p->outer = (uint64_t)x->shape[0];
    p->classes = (uint64_t)x->shape[1];
    for (int32_t d = 2; d < x->rank; d++) p->inner *= (uint64_t)x->shape[d];
    return p->outer && p->classes && p->inner && kernel_count(labels) == p->outer * p->inner;
}

static uint64_t loss_units(const params *p)
{
    return p->outer * ((p->inner - 1) / COLUMNS + 1);
}

static bool loss_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (u->input_count < 2 || u->input_count > 3 || !loss_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    const double samples = (double)(p.outer * p.inner);
    *cost_ns = 100 + samples * (10 + (p.softmax ? (double)p.classes * u->self->rates[0] : 0));
    return true;
}

static pgy_status loss_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)loss_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .in_place = -1};
    out->phases = p->reduction == LOSS_EACH ? 1 : 2;
    if (p->reduction != LOSS_EACH) out->workspace_bytes = p->outer * p->inner * sizeof(float);
    const uint64_t units = loss_units(p), worth = p->outer * p->inner * p->classes / 4096 + 1;
    out->parts = (uint32_t)(units < worth ? units : worth);
    if (out->parts > 256) out->parts = 256;
    return PGY_OK;
}

static bool loss_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) ||
        !extent_enum(e, p->reduction, LOSS_REDUCTIONS, "reduction"))
        return false;
    if (p->inputs != q->input_count || p->inputs < 2 || p->inputs > 3 || q->output_count < 1)
        return extent_refuse(e, "number of inputs");
    if (!p->outer || !p->classes || !p->inner) return extent_refuse(e, "sizes");
    if (p->keeps && (!p->softmax || q->output_count != 2)) return extent_refuse(e, "outputs");
    const uint64_t samples = extent_mul(p->outer, p->inner);
    const uint64_t scores = extent_mul(samples, p->classes);
    extent_tensor(e, SCORES, scores, sizeof(float));
    extent_tensor(e, LABELS, samples, p->wide ? sizeof(int64_t) : sizeof(int32_t));
    if (p->inputs == 3 && extent_has(q, WEIGHTS))
        extent_tensor(e, WEIGHTS, p->classes, sizeof(float));
    extent_tensor(e, p->inputs, p->reduction == LOSS_EACH ? samples : 1, sizeof(float));
    if (p->keeps) extent_tensor(e, p->inputs + 1, scores, sizeof(float));
    if (p->reduction != LOSS_EACH) e->workspace = extent_mul(samples, sizeof(float));
    e->phases = p->reduction == LOSS_EACH ? 1 : 2;
    e->indices = 1u << LABELS;
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* The class of sample i; false: it is ignored. */
static bool loss_label(uint64_t *out, const params *p, const kernel_run *r, uint64_t i)
{
    const int64_t label = p->wide ? ((const int64_t *)r->tensors[LABELS])[i]
                                  : ((const int32_t *)r->tensors[LABELS])[i];
    *out = (uint64_t)label;
    if (p->ignores && label == p->ignored) return false;
    if (label >= 0 && *out < p->classes) return true;
    kernel_fault(r);
    return false;
}

static const float *loss_weights(const params *p, const kernel_run *r)
{
    return p->inputs == 3 ? r->tensors[WEIGHTS] : NULL;
}

/* What is subtracted from the scores of one sample, whose classes are neighbours. */
static float loss_shift(const vec_math *m, const float *x, size_t n)
{
    float piece[COLUMNS], sum = 0;
    const float most = m->max(x, n);
    for (size_t i = 0; i < n; i += COLUMNS)
        sum += m->exp_sum(piece, x + i, n - i < COLUMNS ? n - i : COLUMNS, most);
    return most + logf(sum);
}

/* The same of up to COLUMNS samples side by side. */
static void loss_shifts(const vec_math *m, float *shift, const float *x, size_t classes,
                        size_t stride, size_t columns)
{
    float most[COLUMNS], sum[COLUMNS], piece[COLUMNS];
    memcpy(most, x, columns * sizeof *most);
    for (size_t k = 1; k < classes; k++)
        for (size_t j = 0; j < columns; j++) {
            const float v = x[k * stride + j];
            most[j] = v > most[j] ? v : most[j];
        }
    for (size_t j = 0; j < columns; j++) sum[j] = 0;
    for (size_t k = 0; k < classes; k++) {
        for (size_t j = 0; j < columns; j++) piece[j] = x[k * stride + j] - most[j];
        m->exp(piece, piece, columns);
        for (size_t j = 0; j < columns; j++) sum[j] += piece[j];
    }
    m->log(sum, sum, columns);
    for (size_t j = 0; j < columns; j++) shift[j] = most[j] + sum[j];
}

/* The samples [column, column + columns) of one outer index. */
static void loss_unit(const params *p, const kernel_run *r, float *losses, uint64_t outer,
                      uint64_t column, size_t columns)
{
    const vec_math *m = vec_math_of((cpu_level)p->level);
    const float *weights = loss_weights(p, r);
    const uint64_t base = outer * p->classes * p->inner + column;
    const float *x = (const float *)r->tensors[SCORES] + base;
    float shift[COLUMNS] = {0};
    if (p->softmax && p->inner == 1)
        shift[0] = loss_shift(m, x, p->classes);
    else if (p->softmax)
        loss_shifts(m, shift, x, p->classes, p->inner, columns);
    for (size_t j = 0; j < columns; j++) {
        const uint64_t i = outer * p->inner + column + j;
        uint64_t label;
        losses[i] = 0;
        if (!loss_label(&label, p, r, i)) continue;
        losses[i] = (shift[j] - x[label * p->inner + j]) * (weights ? weights[label] : 1);
    }
    float *kept = p->keeps ? (float *)r->tensors[p->inputs + 1] + base : NULL;
    for (uint64_t k = 0; kept && k < p->classes; k++)
        for (size_t j = 0; j < columns; j++)
            kept[k * p->inner + j] = x[k * p->inner + j] - shift[j];
}

/* Adds all losses, in their order. */
static void loss_reduce(const params *p, const kernel_run *r)
{
    const float *weights = loss_weights(p, r), *losses = r->workspace;
    double sum = 0, total = 0;
    for (uint64_t i = 0; i < p->outer * p->inner; i++) {
        uint64_t label;
        sum += losses[i];
        if (p->reduction == LOSS_MEAN && loss_label(&label, p, r, i))
            total += weights ? weights[label] : 1;
    }
    float *y = r->tensors[p->inputs];
    *y = (float)(p->reduction == LOSS_MEAN ? sum / total : sum);
}

static void loss_run(const kernel_run *r)
{
    const params *p = r->params;
    const uint64_t blocks = (p->inner - 1) / COLUMNS + 1;
    float *losses = p->reduction == LOSS_EACH ? r->tensors[p->inputs] : r->workspace;
    size_t from, to;
    if (r->phase) {
        if (r->part == 0) loss_reduce(p, r);
        return;
    }
    kernel_share(&from, &to, loss_units(p), r->part, r->parts);
    for (size_t unit = from; unit < to && !cancel_requested(); unit++) {
        const uint64_t column = unit % blocks * COLUMNS, left = p->inner - column;
        loss_unit(p, r, losses, unit / blocks, column, left < COLUMNS ? left : COLUMNS);
    }
}

#define ROW(suffix, level, each)                                                          \
    {                                                                                     \
        .name = "loss_" #suffix, .version = 1,                                            \
        .ops = "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", .needs = level,       \
        .rates = {each}, .accept = loss_accept, .prepare = loss_prepare, .run = loss_run, \
        .extent = loss_extent                                                             \
    }
const kernel KERNELS_loss[] = {
    ROW(portable, CPU_PORTABLE, 2),
    ROW(avx2, CPU_AVX2, 1),
    ROW(avx512, CPU_AVX512, 0.6),
    {0},
};

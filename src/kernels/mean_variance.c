/* SPDX-License-Identifier: Apache-2.0 */
/* MeanVarianceNormalization in float32. Axes are joined to [kept][reduced][kept][reduced], so a set
 * of elements that share mean and variance is a few stretches of the tensor, or columns of it. */
#include <math.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/vec_math.h"

enum { JOINED = 4, COLUMNS = 64 };

typedef struct params {
    uint64_t size[JOINED]; /* kept, reduced, kept, reduced */
    uint32_t level, zero;
} params;

static bool is_reduced(const kernel_problem *u, int64_t axis)
{
    static const int64_t USUAL[] = {0, 2, 3};
    const int64_t rank = u->inputs[0].rank;
    size_t count = 3;
    const int64_t *axes = op_attr_ints(u->node, "axes", &count);
    if (!op_attr_find(u->node, "axes")) {
        axes = USUAL;
        count = 3;
    }
    for (size_t i = 0; i < count; i++)
        if (axes[i] == axis || axes[i] + rank == axis) return true;
    return false;
}

static bool mean_variance_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    int at = 0;
    *p = (params){.size = {1, 1, 1, 1}, .level = u->self->needs};
    if (x->dtype != PGY_F32 || u->outputs[0].dtype != PGY_F32 || !kernel_count(x)) return false;
    for (int32_t i = 0; i < x->rank; i++) {
        if (x->shape[i] == 1) continue;
        if (is_reduced(u, i) != at % 2) at++;
        if (at == JOINED) return false;
        p->size[at] *= (uint64_t)x->shape[i];
    }
    if (p->size[2] == 1) { /* the last axes are reduced: one stretch for each set */
        p->size[3] *= p->size[1];
        p->size[1] = 1;
    }
    return true;
}

static uint64_t unit_count(const params *p)
{
    const uint64_t columns = p->size[2];
    return p->size[0] * (p->size[3] > 1 ? columns : (columns + COLUMNS - 1) / COLUMNS);
}

static bool mean_variance_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!mean_variance_describe(&p, u)) return false;
    u->inputs[0].layout = u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)kernel_count(&u->inputs[0]) * u->self->rates[0] +
               (double)(p.size[0] * p.size[1] * p.size[2]) * 4;
    return true;
}

static pgy_status mean_variance_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)mean_variance_describe(p, u); /* cannot fail after `accept` */
    const uint64_t units = unit_count(p), worth = kernel_count(&u->inputs[0]) / 8192 + 1;
    const uint64_t parts = units < worth ? units : worth;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1};
    out->parts = (uint32_t)(parts < 256 ? parts : 256);
    return PGY_OK;
}

static bool mean_variance_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    const uint64_t count = extent_product(p->size, JOINED);
    if (!count || count > INT64_MAX) return extent_refuse(e, "sizes");
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    extent_tensor(e, 0, count, sizeof(float));
    extent_tensor(e, 1, count, sizeof(float));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static float factor_of(double squares, double count)
{
    return (float)(1 / (sqrt(squares / count) + 1e-9));
}

/* A set of stretches of size[3] elements. */
static void normalize_stretches(const params *p, const vec_math *m, float *y, const float *x)
{
    const uint64_t n = p->size[3], step = p->size[2] * n;
    const double count = (double)(p->size[1] * n);
    double sum = 0, squares = 0;
    for (uint64_t a = 0; a < p->size[1]; a++) sum += (double)m->sum(x + a * step, n);
    const float mean = (float)(sum / count);
    for (uint64_t a = 0; a < p->size[1]; a++)
        squares += (double)m->sum_squares(x + a * step, n, mean);
    const float factor = factor_of(squares, count);
    for (uint64_t a = 0; a < p->size[1]; a++)
        m->affine(y + a * step, x + a * step, n, mean, factor, 0);
}

/* Up to COLUMNS neighbouring sets, whose elements are size[2] apart. */
static void normalize_columns(const params *p, float *y, const float *x, uint64_t width)
{
    const uint64_t rows = p->size[1], step = p->size[2];
    double sum[COLUMNS] = {0}, squares[COLUMNS] = {0};
    float mean[COLUMNS], factor[COLUMNS];
    for (uint64_t a = 0; a < rows; a++)
        for (uint64_t i = 0; i < width; i++) sum[i] += (double)x[a * step + i];
    for (uint64_t i = 0; i < width; i++) mean[i] = (float)(sum[i] / (double)rows);
    for (uint64_t a = 0; a < rows; a++)
        for (uint64_t i = 0; i < width; i++) {
            const double apart = (double)(x[a * step + i] - mean[i]);
            squares[i] += apart * apart;
        }
    for (uint64_t i = 0; i < width; i++) factor[i] = factor_of(squares[i], (double)rows);
    for (uint64_t a = 0; a < rows; a++)
        for (uint64_t i = 0; i < width; i++)
            y[a * step + i] = (x[a * step + i] - mean[i]) * factor[i];
}

static void mean_variance_run(const kernel_run *r)
{
    const params *p = r->params;
    const uint64_t units = unit_count(p), each = units / p->size[0];
    const uint64_t block = p->size[1] * p->size[2] * p->size[3];
    size_t from, to;
    kernel_share(&from, &to, units, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const uint64_t first = p->size[3] > 1 ? i % each * p->size[3] : i % each * COLUMNS;
        const uint64_t at = i / each * block + first, left = p->size[2] - first;
        const float *x = (const float *)r->tensors[0] + at;
        float *y = (float *)r->tensors[1] + at;
        if (p->size[3] > 1)
            normalize_stretches(p, vec_math_of((cpu_level)p->level), y, x);
        else
            normalize_columns(p, y, x, left < COLUMNS ? left : COLUMNS);
    }
}

#define ROW(suffix, level, each)                                                                   \
    {                                                                                              \
        .name = "mean_variance_f32_" #suffix, .version = 1, .ops = "MeanVarianceNormalization",    \
        .needs = level, .rates = {each}, .accept = mean_variance_accept,                           \
        .prepare = mean_variance_prepare, .run = mean_variance_run, .extent = mean_variance_extent \
    }
const kernel KERNELS_mean_variance[] = {
    ROW(portable, CPU_PORTABLE, 1),
    ROW(avx2, CPU_AVX2, 0.5),
    ROW(avx512, CPU_AVX512, 0.4),
    {0},
};

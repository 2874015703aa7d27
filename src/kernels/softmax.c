/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and LogSoftmax in float32 along one axis. If the axis is the last one, rows are
 * contiguous; else COLUMNS neighbouring rows are computed together, element by element. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/elementwise.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/shared_params.h"
#include "kernels/vec_math.h"

enum { COLUMNS = 256, TOGETHER = 2048 };

typedef softmax_params params;

static bool softmax_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    int64_t axis = op_attr_int(u->node, "axis", -1);
    *p = (params){.outer = 1, .inner = 1};
    if (u->node->def->since < 13 || x->dtype != PGY_F32 || u->output_count != 1) return false;
    if (axis < 0) axis += x->rank;
    if (axis < 0 || axis >= x->rank || !kernel_count(x)) return false;
    for (int64_t d = 0; d < axis; d++) p->outer *= (uint64_t)x->shape[d];
    for (int64_t d = axis + 1; d < x->rank; d++) p->inner *= (uint64_t)x->shape[d];
    p->length = (uint64_t)x->shape[axis];
    p->logarithm = strcmp(u->node->def->name, "LogSoftmax") == 0;
    return true;
}

static uint64_t column_units(const params *p)
{
    return p->inner == 1 ? 1 : (p->inner + COLUMNS - 1) / COLUMNS;
}

static bool softmax_accept(kernel_problem *u, double *cost_ns)
{
    const double each = u->self->rates[0];
    params p;
    if (!softmax_describe(&p, u)) return false;
    u->inputs[0].layout = u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns =
        100 + (double)(p.outer * p.length * p.inner) * each + (double)p.outer * u->self->rates[1];
    return true;
}

static pgy_status softmax_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)softmax_describe(p, u); /* cannot fail after `accept` */
    p->level = u->self->needs;
    const uint64_t units = p->outer * column_units(p);
    const uint64_t worth = p->outer * p->length * p->inner / 4096 + 1;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1};
    out->in_place = p->logarithm ? -1 : 0;
    out->parts = (uint32_t)(units < worth ? units : worth);
    if (out->parts > 256) out->parts = 256;
    return PGY_OK;
}

static bool softmax_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    if (!p->length || !p->inner) return extent_refuse(e, "shape");
    const uint64_t count = extent_mul3(p->outer, p->length, p->inner);
    extent_tensor(e, 0, count, sizeof(float));
    extent_tensor(e, 1, count, sizeof(float));
    return true;
}

static void log_softmax_row(const vec_math *m, float *y, const float *x, size_t n)
{
    const float most = m->max(x, n), sum = m->exp_sum(y, x, n, most);
    m->affine(y, x, n, most, 1, -logf(sum));
}

/* Computes contiguous rows. */
static void softmax_rows(const params *p, const kernel_run *r, size_t from, size_t to)
{
    const vec_math *m = vec_math_of((cpu_level)p->level);
    const size_t n = p->length, together = n < TOGETHER ? TOGETHER / n : 1;
    for (size_t row = from; row < to && !cancel_requested(); row += together) {
        const size_t rows = to - row < together ? to - row : together;
        const float *x = (const float *)r->tensors[0] + row * n;
        float *y = (float *)r->tensors[1] + row * n;
        if (!p->logarithm) m->softmax_rows(y, x, rows, n);
        for (size_t i = 0; p->logarithm && i < rows; i++)
            log_softmax_row(m, y + i * n, x + i * n, n);
    }
}

/* Computes n neighbouring columns; consecutive elements along the axis lie `step` elements apart.
 */
static void softmax_columns(const params *p, float *y, const float *x, size_t n, size_t step)
{
    float most[COLUMNS], sum[COLUMNS];
    const elementwise_loop *loops = elementwise_table((cpu_level)p->level);
    const vec_math *m = vec_math_of((cpu_level)p->level);
    static const uint32_t both[] = {1, 1};
    memcpy(most, x, n * sizeof *most);
    for (size_t i = 1; i < p->length; i++)
        loops[ELEMENTWISE_max_f32](most, (const void *const[]){most, x + i * step}, both, n, NULL);
    memset(sum, 0, n * sizeof *sum);
    m->exp_sum_columns(y, x, p->length, step, n, most, sum);
    if (p->logarithm) m->log(sum, sum, n);
    for (size_t i = 0; i < p->length; i++) {
        float *to = y + i * step;
        if (!p->logarithm) {
            loops[ELEMENTWISE_div_f32](to, (const void *const[]){to, sum}, both, n, NULL);
            continue;
        }
        loops[ELEMENTWISE_sub_f32](to, (const void *const[]){x + i * step, most}, both, n, NULL);
        loops[ELEMENTWISE_sub_f32](to, (const void *const[]){to, sum}, both, n, NULL);
    }
}

static void softmax_run(const kernel_run *r)
{
    const params *p = r->params;
    const uint64_t units = column_units(p);
    size_t from, to;
    kernel_share(&from, &to, p->outer * units, r->part, r->parts);
    if (p->inner == 1) {
        softmax_rows(p, r, from, to);
        return;
    }
    for (size_t unit = from; unit < to && !cancel_requested(); unit++) {
        const size_t column = unit % units * COLUMNS;
        const size_t at = unit / units * p->length * p->inner + column;
        const size_t columns = p->inner - column < COLUMNS ? p->inner - column : COLUMNS;
        const float *x = (const float *)r->tensors[0] + at;
        float *y = (float *)r->tensors[1] + at;
        softmax_columns(p, y, x, columns, p->inner);
    }
}

static int32_t softmax_free_axes(const kernel_problem *u)
{
    return kernel_axes_before(u, op_attr_int(u->node, "axis", -1));
}

#define ROW(suffix, level, each, row)                                                              \
    {                                                                                              \
        .name = "softmax_f32_" #suffix, .version = 1, .ops = "Softmax LogSoftmax", .needs = level, \
        .rates = {each, row}, .free_axes = softmax_free_axes, .accept = softmax_accept,            \
        .prepare = softmax_prepare, .run = softmax_run, .extent = softmax_extent                   \
    }
const kernel KERNELS_softmax[] = {
    ROW(portable, CPU_PORTABLE, 2.5, 30),
    ROW(avx2, CPU_AVX2, 0.8, 30),
    ROW(avx512, CPU_AVX512, 0.4, 10),
    {0},
};

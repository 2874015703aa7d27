/* SPDX-License-Identifier: Apache-2.0 */
/* LpNormalization along any axis; norm.c has the one of squares along the last axis. Lines that lie
 * side by side are summed together. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/elementwise.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/vec_math.h"

enum { COLUMNS = 256 };

typedef struct params {
    uint64_t outer, length, inner;
    uint32_t squares, level;
} params;

static bool lp_norm_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    int64_t axis = op_attr_int(u->node, "axis", -1);
    if (axis < 0) axis += x->rank;
    if (x->dtype != PGY_F32 || axis < 0 || axis >= x->rank || !kernel_count(x)) return false;
    *p = (params){.outer = 1, .inner = 1, .length = (uint64_t)x->shape[axis]};
    p->level = u->self->needs;
    p->squares = op_attr_int(u->node, "p", 2) == 2;
    for (int64_t d = 0; d < axis; d++) p->outer *= (uint64_t)x->shape[d];
    for (int64_t d = axis + 1; d < x->rank; d++) p->inner *= (uint64_t)x->shape[d];
    return true;
}

static uint64_t lp_norm_units(const params *p)
{
    return p->outer * ((p->inner - 1) / COLUMNS + 1);
}

static bool lp_norm_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (u->input_count != 1 || !lp_norm_describe(&p, u)) return false;
    u->inputs[0].layout = u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)lp_norm_units(&p) * 40 +
               (double)kernel_count(&u->inputs[0]) * u->self->rates[0];
    return true;
}

static pgy_status lp_norm_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)lp_norm_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = 0};
    const uint64_t units = lp_norm_units(p), worth = kernel_count(&u->inputs[0]) / 8192 + 1;
    out->parts = (uint32_t)(units < worth ? units : worth);
    if (out->parts > 64) out->parts = 64;
    return PGY_OK;
}

static bool lp_norm_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    if (!p->outer || !p->length || !p->inner) return extent_refuse(e, "sizes");
    const uint64_t count = extent_mul3(p->outer, p->length, p->inner);
    extent_tensor(e, 0, count, sizeof(float));
    extent_tensor(e, 1, count, sizeof(float));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* What to divide by: elements of a line whose norm is 0 become 0. */
static float lp_norm_divisor(float norm)
{
    return norm == 0 ? INFINITY : norm;
}

static void lp_norm_row(const params *p, float *y, const float *x)
{
    const vec_math *m = vec_math_of((cpu_level)p->level);
    const float sum =
        p->squares ? sqrtf(m->sum_squares(x, p->length, 0)) : m->sum_magnitudes(x, p->length);
    const float by = lp_norm_divisor(sum);
    elementwise_table((cpu_level)p->level)[ELEMENTWISE_div_f32](
        y, (const void *const[]){x, &by}, (const uint32_t[]){1, 0}, p->length, NULL);
}

/* Up to COLUMNS lines side by side. */
static void lp_norm_columns(const params *p, float *y, const float *x, size_t n)
{
    static const uint32_t both[] = {1, 1};
    const elementwise_loop *loops = elementwise_table((cpu_level)p->level);
    float sum[COLUMNS] = {0}, piece[COLUMNS];
    for (uint64_t k = 0; k < p->length; k++) {
        const float *row = x + k * p->inner;
        if (p->squares)
            loops[ELEMENTWISE_mul_f32](piece, (const void *const[]){row, row}, both, n, NULL);
        else
            loops[ELEMENTWISE_abs_f32](piece, (const void *const[]){row}, both, n, NULL);
        loops[ELEMENTWISE_add_f32](sum, (const void *const[]){sum, piece}, both, n, NULL);
    }
    for (size_t j = 0; j < n; j++) sum[j] = lp_norm_divisor(p->squares ? sqrtf(sum[j]) : sum[j]);
    for (uint64_t k = 0; k < p->length; k++)
        loops[ELEMENTWISE_div_f32](y + k * p->inner, (const void *const[]){x + k * p->inner, sum},
                                   both, n, NULL);
}

static void lp_norm_run(const kernel_run *r)
{
    const params *p = r->params;
    const uint64_t blocks = (p->inner - 1) / COLUMNS + 1;
    size_t from, to;
    kernel_share(&from, &to, lp_norm_units(p), r->part, r->parts);
    for (size_t unit = from; unit < to && !cancel_requested(); unit++) {
        const uint64_t column = unit % blocks * COLUMNS, left = p->inner - column;
        const uint64_t at = unit / blocks * p->length * p->inner + column;
        const float *x = (const float *)r->tensors[0] + at;
        float *y = (float *)r->tensors[1] + at;
        if (p->inner == 1)
            lp_norm_row(p, y, x);
        else
            lp_norm_columns(p, y, x, left < COLUMNS ? left : COLUMNS);
    }
}

#define ROW(suffix, level, each)                                                                   \
    {                                                                                              \
        .name = "lp_norm_" #suffix, .version = 1, .ops = "LpNormalization", .needs = level,        \
        .rates = {each}, .accept = lp_norm_accept, .prepare = lp_norm_prepare, .run = lp_norm_run, \
        .extent = lp_norm_extent                                                                   \
    }
const kernel KERNELS_lp_norm[] = {
    ROW(portable, CPU_PORTABLE, 1.5),
    ROW(avx2, CPU_AVX2, 0.8),
    ROW(avx512, CPU_AVX512, 0.6),
    {0},
};

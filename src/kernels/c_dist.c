/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft CDist in float32: sums of squared differences of the rows of A and B. The formula
 * |a|^2 + |b|^2 - 2ab, a matrix product, would lose the distances of near points. A unit is some
 * rows of A and SVM_PAD rows of B, which are turned for the loops of support vector machines. */
#include <math.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/svm.h"

enum { BLOCK = 128 }; /* rows of A of a unit */

typedef struct params {
    uint64_t rows, columns, width;
    uint32_t level, root;
} params;

static const svm_loops *loops_of(const params *p)
{
#if defined(__x86_64__)
    if (p->level >= CPU_AVX512) return &svm_loops_avx512;
    if (p->level >= CPU_AVX2) return &svm_loops_avx2;
#endif
    (void)p;
    return &svm_loops_portable;
}

static bool c_dist_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *a = &u->inputs[0], *b = &u->inputs[1];
    if (u->input_count != 2 || a->dtype != PGY_F32 || b->dtype != PGY_F32 || a->rank != 2 ||
        b->rank != 2 || a->shape[1] != b->shape[1] || !kernel_count(a) || !kernel_count(b))
        return false;
    *p = (params){.rows = (uint64_t)a->shape[0],
                  .columns = (uint64_t)b->shape[0],
                  .width = (uint64_t)a->shape[1],
                  .level = u->self->needs,
                  .root = op_attr_is(u->node, "metric", "euclidean", "sqeuclidean")};
    return true;
}

static bool c_dist_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!c_dist_describe(&p, u)) return false;
    u->inputs[0].layout = u->inputs[1].layout = u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns =
        100 + (double)p.rows * (double)p.columns * (2 * (double)p.width + 4) / u->self->rates[0];
    return true;
}

static uint64_t c_dist_blocks(const params *p)
{
    return (p->rows + BLOCK - 1) / BLOCK;
}

static uint64_t c_dist_units(const params *p)
{
    return extent_mul(c_dist_blocks(p), (p->columns + SVM_PAD - 1) / SVM_PAD);
}

/* Floats: turned rows of B, distances. */
static uint64_t c_dist_scratch(const params *p)
{
    return extent_mul(extent_add(p->width, BLOCK), SVM_PAD * sizeof(float));
}

static pgy_status c_dist_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)c_dist_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t units = c_dist_units(p);
    out->parts = (uint32_t)(units < 256 ? units : 256);
    out->scratch_bytes = c_dist_scratch(p);
    return PGY_OK;
}

static bool c_dist_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (q->input_count != 2) return extent_refuse(e, "number of inputs");
    if (!p->rows || !p->columns || !p->width || p->root > 1 || p->columns > INT64_MAX ||
        p->rows > INT64_MAX)
        return extent_refuse(e, "sizes");
    extent_tensor(e, 0, extent_mul(p->rows, p->width), sizeof(float));
    extent_tensor(e, 1, extent_mul(p->columns, p->width), sizeof(float));
    extent_tensor(e, 2, extent_mul(p->rows, p->columns), sizeof(float));
    e->scratch = c_dist_scratch(p);
    return true;
}

/* Row i of B as column i of a matrix with SVM_PAD columns; missing rows are zeros. */
static void turn(float *to, const float *b, size_t rows, size_t width)
{
    for (size_t k = 0; k < width; k++)
        for (size_t i = 0; i < SVM_PAD; i++) to[k * SVM_PAD + i] = i < rows ? b[i * width + k] : 0;
}

/* `is_turned` says whether the rows of B of this unit lie turned in the scratch memory. */
static void c_dist_unit(const params *p, const kernel_run *r, uint64_t index, bool is_turned)
{
    const uint64_t first = index % c_dist_blocks(p) * BLOCK;
    const uint64_t column = index / c_dist_blocks(p) * SVM_PAD;
    const size_t rows = p->rows - first < BLOCK ? p->rows - first : BLOCK;
    const size_t columns = p->columns - column < SVM_PAD ? p->columns - column : SVM_PAD;
    float *turned = r->scratch, *found = turned + p->width * SVM_PAD;
    if (!is_turned)
        turn(turned, (const float *)r->tensors[1] + column * p->width, columns, p->width);
    loops_of(p)->tile(&(svm_tile){.to = found,
                                  .x = (const float *)r->tensors[0] + first * p->width,
                                  .turned = turned,
                                  .padded = SVM_PAD,
                                  .features = p->width,
                                  .rows = rows,
                                  .squares = true});
    for (size_t i = 0; i < rows; i++) {
        float *y = (float *)r->tensors[2] + (first + i) * p->columns + column;
        const float *x = found + i * SVM_PAD;
        for (size_t j = 0; j < columns; j++) y[j] = p->root ? sqrtf(x[j]) : x[j];
    }
}

static void c_dist_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, c_dist_units(p), r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++)
        c_dist_unit(p, r, i, i > from && i % c_dist_blocks(p));
}

#define ROW(suffix, level, flops_per_ns)                                                       \
    {                                                                                          \
        .name = "c_dist_" #suffix, .version = 1, .ops = "com.microsoft:CDist", .needs = level, \
        .rates = {flops_per_ns}, .accept = c_dist_accept, .prepare = c_dist_prepare,           \
        .run = c_dist_run, .extent = c_dist_extent                                             \
    }
const kernel KERNELS_c_dist[] = {
    ROW(portable, CPU_PORTABLE, 6),
    ROW(avx2, CPU_AVX2, 25),
    ROW(avx512, CPU_AVX512, 40),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul of matrices with one column and one row: each element is one product, so operands
 * broadcast as in Mul. */
#include "base/alloc.h"
#include "kernels/elementwise.h"
#include "kernels/extent.h"
#include "kernels/walk.h"

typedef struct params {
    walk w;
    uint32_t level;
} params;

static bool matmul_outer_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *a = &u->inputs[0], *b = &u->inputs[1], *y = &u->outputs[0];
    *p = (params){.level = u->self->needs};
    if (u->input_count != 2 || a->dtype != PGY_F32 || b->dtype != PGY_F32 || !kernel_count(y))
        return false;
    if (a->rank < 2 || b->rank < 2 || a->shape[a->rank - 1] != 1 || b->shape[b->rank - 2] != 1)
        return false;
    return walk_init(&p->w, y, (const kernel_tensor *const[]){a, b}, 2);
}

static bool matmul_outer_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!matmul_outer_describe(&p, u)) return false;
    u->inputs[0].layout = u->inputs[1].layout = u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 20 + (double)p.w.count * u->self->rates[0];
    return true;
}

static pgy_status matmul_outer_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)matmul_outer_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = walk_parts(p->w.count, 3 * sizeof(float));
    return PGY_OK;
}

static bool matmul_outer_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !walk_extent(e, &p->w, true)) return false;
    if (p->w.operands != 2 || q->input_count != 2) return extent_refuse(e, "number of operands");
    for (uint32_t i = 0; i < 2; i++) extent_tensor(e, i, walk_reach(&p->w, i), sizeof(float));
    extent_tensor(e, 2, p->w.count, sizeof(float));
    return true;
}

static void matmul_outer_run(const kernel_run *r)
{
    const params *p = r->params;
    const elementwise_loop multiply = elementwise_table((cpu_level)p->level)[ELEMENTWISE_mul_f32];
    const uint32_t last = p->w.rank - 1;
    const uint32_t steps[2] = {(uint32_t)p->w.strides[0][last], (uint32_t)p->w.strides[1][last]};
    walk_at at;
    size_t n;
    walk_begin(&at, &p->w, r->part, r->parts);
    for (; walk_run(&at, &p->w, SIZE_MAX, &n); walk_next(&at, &p->w, n))
        multiply((float *)r->tensors[2] + at.done,
                 (const void *const[]){(const float *)r->tensors[0] + at.offset[0],
                                       (const float *)r->tensors[1] + at.offset[1]},
                 steps, n, NULL);
}

#define ROW(suffix, level, ns)                                                          \
    {                                                                                   \
        .name = "matmul_outer_" #suffix, .version = 1, .ops = "MatMul", .needs = level, \
        .rates = {ns}, .accept = matmul_outer_accept, .prepare = matmul_outer_prepare,  \
        .run = matmul_outer_run, .extent = matmul_outer_extent                          \
    }
const kernel KERNELS_matmul_outer[] = {
    ROW(portable, CPU_PORTABLE, 0.05),
    ROW(avx2, CPU_AVX2, 0.02),
    ROW(avx512, CPU_AVX512, 0.02),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul, Gemm and their fusions where one factor is a vector: one row times B, or A times one
 * column. The matrix is read where it lies, once. A constant B of one row's product is left to
 * matmul.c, which packs it. */
#include "kernels/matmul_vector.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/matmul.h"

/* Outputs of a unit of work: a multiple of all vectors, short enough for the L1 cache. */
enum { UNIT = 2048 };

typedef struct params {
    matmul_shape s;
    uint32_t level;
    uint32_t has_residual;
    uint32_t inputs; /* number of inputs, and so the index of the output operand */
} params;

/* The product as outputs of a matrix and a vector. */
typedef struct view {
    uint32_t matrix;     /* which input is the matrix */
    uint64_t outputs;    /* of one product */
    uint64_t own, along; /* strides of the matrix between outputs, and along the sum */
    const uint64_t *matrix_batch, *vector_batch;
} view;

static view find_view(const matmul_shape *s)
{
    if (s->n == 1) return (view){0, s->m, s->a_row, s->a_column, s->a_batch, s->b_batch};
    return (view){1, s->n, s->b_column, s->b_row, s->b_batch, s->a_batch};
}

/* One stride of the matrix must be 1, and that of the vector. */
static bool is_product(const matmul_shape *s)
{
    if (s->n != 1 && s->m != 1) return false;
    const view v = find_view(s);
    return (v.own == 1 || v.along == 1 || s->k == 1) && (s->n == 1 ? s->b_row : s->a_column) == 1;
}

static bool matmul_vector_accept(kernel_problem *u, double *cost_ns)
{
    const double bytes_per_ns = u->self->rates[0];
    matmul_shape s;
    if (!matmul_describe(&s, u) || !is_product(&s)) return false;
    if (s.n != 1 && u->inputs[1].data) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 4.0 * (double)(s.m * s.n) * (double)s.batch * ((double)s.k + 8) / bytes_per_ns;
    return true;
}

static uint64_t unit_count(const matmul_shape *s)
{
    return s->batch * ((find_view(s).outputs + UNIT - 1) / UNIT);
}

static pgy_status matmul_vector_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)matmul_describe(&p->s, u); /* cannot fail after `accept` */
    p->level = u->self->needs;
    p->inputs = (uint32_t)u->input_count;
    p->has_residual = u->input_count > 3 && u->inputs[3].dtype;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t units = unit_count(&p->s), work = p->s.m * p->s.n * p->s.batch * p->s.k / 16384;
    const uint64_t parts = units < work ? units : work;
    out->parts = (uint32_t)(parts > 64 ? 64 : parts ? parts : 1);
    return PGY_OK;
}

static bool matmul_vector_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count || p->inputs < 2) return extent_refuse(e, "number of inputs");
    if (!matmul_extent(e, &p->s, p->has_residual, p->inputs)) return false;
    if (!is_product(&p->s)) return extent_refuse(e, "vector");
    extent_tensor(e, 1, matmul_b_reach(&p->s), sizeof(float));
    return true;
}

static const matmul_vector_loops *loops_of(cpu_level level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &matmul_vector_avx512;
    if (level >= CPU_AVX2) return &matmul_vector_avx2;
#endif
    (void)level;
    return &matmul_vector_portable;
}

static void matmul_vector_unit(const params *p, const kernel_run *r, size_t product, size_t from,
                               size_t count)
{
    const matmul_vector_loops *loops = loops_of((cpu_level)p->level);
    const view v = find_view(&p->s);
    const float *m = (const float *)r->tensors[v.matrix] +
                     matmul_offset(&p->s, v.matrix_batch, product) + from * v.own;
    const float *x =
        (const float *)r->tensors[!v.matrix] + matmul_offset(&p->s, v.vector_batch, product);
    const size_t at = product * v.outputs;
    float *y = (float *)r->tensors[p->inputs] + at;
    if (v.along == 1)
        loops->dots(y + from, m, v.own, x, count, p->s.k);
    else
        loops->sums(y + from, m, v.along, x, count, p->s.k);
    /* The end of the product sees one row of outputs. */
    matmul_shape row = p->s;
    row.m = 1;
    row.n = v.outputs;
    const float *bias = p->s.bias != MATMUL_NO_BIAS ? r->tensors[2] : NULL;
    const float *residual = p->has_residual ? r->tensors[3] : NULL;
    const bool whole = p->s.bias == MATMUL_BIAS_FULL;
    const matmul_data d = {.bias = bias && whole ? bias + at : bias,
                           .residual = residual ? residual + at : NULL,
                           .c = y};
    matmul_finish(&row, matmul_tile_of((cpu_level)p->level), &d, row.alpha, 0, 1, from, count);
}

static void matmul_vector_run(const kernel_run *r)
{
    const params *p = r->params;
    const size_t outputs = find_view(&p->s).outputs, each = (outputs + UNIT - 1) / UNIT;
    size_t unit, end;
    kernel_share(&unit, &end, unit_count(&p->s), r->part, r->parts);
    for (; unit < end && !cancel_requested(); unit++) {
        const size_t from = unit % each * UNIT;
        matmul_vector_unit(p, r, unit / each, from, outputs - from < UNIT ? outputs - from : UNIT);
    }
}

#define ROW(suffix, level, bytes_per_ns)                                                           \
    {                                                                                              \
        .name = "matmul_vector_f32_" #suffix, .version = 1,                                        \
        .ops = "MatMul Gemm pgy:FusedMatMul com.microsoft:FusedMatMul", .needs = level,            \
        .rates = {bytes_per_ns}, .accept = matmul_vector_accept, .prepare = matmul_vector_prepare, \
        .run = matmul_vector_run, .extent = matmul_vector_extent                                   \
    }
const kernel KERNELS_matmul_vector[] = {
    ROW(portable, CPU_PORTABLE, 8),
    ROW(avx2, CPU_AVX2, 25),
    ROW(avx512, CPU_AVX512, 30),
    {0},
};

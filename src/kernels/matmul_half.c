/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul, Gemm and their fusions in float32 with a constant B of float16 or bfloat16, or one of
 * float32 whose numbers all are 16-bit ones, as in models made from 16-bit checkpoints. B is packed
 * in 16 bits, because the time of products with few rows is bound by reading B. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/half.h"
#include "kernels/matmul.h"

/* Limit of tiles along the rows; with more, B is widened block by block in memory. */
enum { FEW_TILES = 6 };

typedef struct params {
    matmul_shape s;
    uint32_t level; /* processor level whose panel width B is packed for */
    uint32_t dtype, b_shared, has_residual;
    uint32_t inputs; /* number of inputs, and so the index of the output operand */
} params;

/* The type that B is packed in. */
static pgy_dtype weights_type(const kernel_problem *u)
{
    const kernel_tensor *b = &u->inputs[1];
    return b->dtype == PGY_F32 ? b->narrow : b->dtype;
}

static bool matmul_half_describe(matmul_shape *s, const kernel_problem *u)
{
    kernel_problem wide = *u;
    if (u->input_count < 2 || !u->inputs[1].data || !half_is(weights_type(u))) return false;
    if (u->outputs[0].dtype != PGY_F32) return false;
    wide.inputs[1].dtype = PGY_F32;
    return matmul_describe(s, &wide);
}

static bool matmul_half_accept(kernel_problem *u, double *cost_ns)
{
    const double flops_per_ns = u->self->rates[0];
    enum { ROWS = 144 }; /* number of rows of A that share a widened block of B */
    matmul_shape s;
    if (!matmul_half_describe(&s, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    const double weights = (double)(s.k * s.n), passes = (double)((s.m + ROWS - 1) / ROWS);
    *cost_ns = 2.0 * (double)(s.m * s.n * s.k * s.batch) / flops_per_ns + weights * 2 / 20 +
               weights * passes * 0.01;
    return true;
}

/* Packs all panels of one B; columns beyond its edge are zeros. */
static void matmul_half_pack(uint16_t *to, const uint16_t *b, const matmul_shape *s,
                             const matmul_tile *t)
{
    for (size_t first = 0; first < s->n; first += t->columns) {
        const size_t columns = s->n - first < t->columns ? s->n - first : t->columns;
        for (size_t p = 0; p < s->k; p++, to += t->columns) {
            const uint16_t *row = b + p * s->b_row + first * s->b_column;
            for (size_t j = 0; j < columns; j++) to[j] = row[j * s->b_column];
            for (size_t j = columns; j < t->columns; j++) to[j] = 0;
        }
    }
}

static bool matmul_half_fill(void *to, const kernel_problem *u, const void *user)
{
    const params *p = user;
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const size_t products = p->b_shared ? 1 : p->s.batch, each = matmul_packed_count(&p->s, t);
    const uint16_t *b = u->inputs[1].data;
    if (u->inputs[1].dtype == PGY_F32)
        return matmul_pack_products(
            to, u, &p->s, t, half_loops_of((pgy_dtype)p->dtype, CPU_AVX512)->narrow, products);
    for (size_t i = 0; i < products; i++)
        matmul_half_pack((uint16_t *)to + i * each, b + matmul_offset(&p->s, p->s.b_batch, i),
                         &p->s, t);
    return true;
}

static pgy_status matmul_half_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    const cpu_level level = u->self->needs;
    const matmul_tile *t = matmul_tile_of(level);
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)matmul_half_describe(&p->s, u); /* cannot fail after `accept` */
    p->level = level;
    p->dtype = (uint32_t)weights_type(u);
    p->inputs = (uint32_t)u->input_count;
    p->has_residual = u->input_count > 3 && u->inputs[3].dtype;
    p->b_shared = matmul_is_shared(p->s.b_batch, p->s.batch_rank);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const size_t each = matmul_packed_count(&p->s, t);
    const size_t products = p->b_shared ? 1 : p->s.batch;
    out->parts = matmul_most_parts(&p->s, t);
    out->scratch_bytes = matmul_half_scratch_count(&p->s, t) * sizeof(float);
    kernel_packing how = matmul_packed_form(&p->s, t, p->b_shared);
    how.size_bytes = products * each * sizeof(uint16_t);
    how.fill = matmul_half_fill;
    how.user = p;
    if (u->inputs[1].dtype == PGY_F32) {
        how.form = PACKING_NARROW;
        how.numbers[PACKING_NARROW_TYPE] = p->dtype;
        how.any_address = true;
    }
    out->packed_inputs = 2;
    const pgy_status st = kernel_pack(out, u, &how, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static bool matmul_half_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count || p->inputs < 2) return extent_refuse(e, "number of inputs");
    if (!half_is((pgy_dtype)p->dtype)) return extent_refuse(e, "type of the weights");
    if (!matmul_extent(e, &p->s, p->has_residual, p->inputs)) return false;
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const uint64_t columns = extent_round_up(p->s.n, t->columns);
    const uint64_t packed = extent_mul3(p->b_shared ? 1 : p->s.batch, columns, p->s.k);
    e->packed = extent_mul(packed, sizeof(uint16_t));
    e->scratch = matmul_half_scratch_count(&p->s, t) * sizeof(float);
    return true;
}

/* Returns micro-kernels that read 16-bit panels, for products with few rows; else NULL. */
static const matmul_half_tile *find_tile(const params *p, const matmul_tile *t)
{
#if defined(__x86_64__)
    if (t->level != CPU_PORTABLE && p->s.m <= FEW_TILES * t->rows) {
        const bool wide = t->level == CPU_AVX512;
        if (p->dtype == PGY_F16) return wide ? &matmul_f16_avx512 : &matmul_f16_avx2;
        return wide ? &matmul_bf16_avx512 : &matmul_bf16_avx2;
    }
#endif
    (void)p;
    (void)t;
    return NULL;
}

static void matmul_half_run(const kernel_run *r)
{
    const params *p = r->params;
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const matmul_data d = {.a = r->tensors[0],
                           .half = r->packed,
                           .widen = half_loops_of((pgy_dtype)p->dtype, (cpu_level)p->level)->widen,
                           .half_tile = find_tile(p, t),
                           .b_shared = p->b_shared,
                           .bias = p->s.bias != MATMUL_NO_BIAS ? r->tensors[2] : NULL,
                           .residual = p->has_residual ? r->tensors[3] : NULL,
                           .c = r->tensors[p->inputs]};
    size_t from, to;
    kernel_share(&from, &to, matmul_unit_count(&p->s, t, r->parts), r->part, r->parts);
    for (size_t unit = from; unit < to && !cancel_requested(); unit++)
        matmul_unit(&p->s, t, r->parts, unit, &d, r->scratch);
}

#define ROW(suffix, level, flops_per_ns)                                                      \
    {                                                                                         \
        .name = "matmul_half_" #suffix, .version = 1,                                         \
        .ops = "MatMul Gemm pgy:FusedMatMul com.microsoft:FusedMatMul", .needs = level,       \
        .rates = {flops_per_ns},                                                              \
        .flags = KERNEL_KEEPS_HALF_WEIGHTS | KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED |    \
                 KERNEL_NARROWS_WEIGHTS,                                                      \
        .accept = matmul_half_accept, .prepare = matmul_half_prepare, .run = matmul_half_run, \
        .extent = matmul_half_extent                                                          \
    }
const kernel KERNELS_matmul_half[] = {
    ROW(portable, CPU_PORTABLE, 12),
    ROW(avx2, CPU_AVX2, 85),
    ROW(avx512, CPU_AVX512, 90),
    {0},
};

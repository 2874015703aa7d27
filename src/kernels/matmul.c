/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul, Gemm and their fusions in float32. `prepare` packs a constant B; another B is packed into
 * the workspace by an extra first phase. */
#include "kernels/matmul.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/hash.h"

typedef struct params {
    matmul_shape s;
    uint32_t level; /* processor level whose panel width B is packed for */
    uint32_t b_constant, b_shared;
    uint32_t has_residual;
    uint32_t inputs; /* number of inputs, and so the index of the output operand */
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

static bool is_float(const kernel_tensor *t)
{
    return t->dtype == PGY_F32;
}

/* Strides of the leading axes of an operand under NumPy's broadcasting. */
static void batch_strides(uint64_t *out, const matmul_shape *s, const kernel_tensor *t,
                          uint64_t matrix)
{
    const int32_t own = t->rank > 2 ? t->rank - 2 : 0;
    uint64_t stride = matrix;
    for (uint32_t i = 0; i < s->batch_rank; i++) {
        const uint32_t d = s->batch_rank - 1 - i;
        const int32_t axis = own - 1 - (int32_t)i;
        const uint64_t size = axis >= 0 ? (uint64_t)t->shape[axis] : 1;
        out[d] = size == 1 ? 0 : stride;
        stride *= size;
    }
}

bool matmul_is_shared(const uint64_t *strides, uint32_t batch_rank)
{
    for (uint32_t i = 0; i < batch_rank; i++)
        if (strides[i]) return false;
    return true;
}

/* Merges products that share B and have consecutive A into one tall product. */
static void join_batches(matmul_shape *s)
{
    if (!s->batch_rank || !matmul_is_shared(s->b_batch, s->batch_rank) || s->a_column != 1 ||
        s->a_row != s->k)
        return;
    uint64_t stride = s->m * s->k;
    for (uint32_t d = s->batch_rank; d-- > 0; stride *= s->batch_shape[d])
        if (s->a_batch[d] != stride && s->batch_shape[d] != 1) return;
    s->m *= s->batch;
    s->batch = 1;
    s->batch_rank = 0;
}

static bool describe_matmul(matmul_shape *s, const kernel_problem *u)
{
    const kernel_tensor *a = &u->inputs[0], *b = &u->inputs[1], *c = &u->outputs[0];
    const int32_t leading = c->rank - (a->rank > 1) - (b->rank > 1);
    /* A vector has no axes to transpose. */
    const bool turn_a = a->rank > 1 && op_attr_int(u->node, "transA", 0),
               turn_b = b->rank > 1 && op_attr_int(u->node, "transB", 0);
    if (leading > MATMUL_MAX_BATCH_RANK) return false;
    s->m = a->rank > 1 ? (uint64_t)a->shape[a->rank - (turn_a ? 1 : 2)] : 1;
    s->k = (uint64_t)a->shape[a->rank - (turn_a ? 2 : 1)];
    s->n = b->rank > 1 ? (uint64_t)b->shape[b->rank - (turn_b ? 2 : 1)] : 1;
    s->a_row = turn_a ? 1 : s->k;
    s->a_column = turn_a ? s->m : 1;
    s->b_row = turn_b ? 1 : s->n;
    s->b_column = turn_b ? s->k : 1;
    s->batch_rank = (uint32_t)leading;
    for (int32_t i = 0; i < leading; i++) {
        s->batch_shape[i] = (uint64_t)c->shape[i];
        s->batch *= s->batch_shape[i];
    }
    batch_strides(s->a_batch, s, a, s->m * s->k);
    batch_strides(s->b_batch, s, b, s->k * s->n);
    join_batches(s);
    return true;
}

static bool describe_bias(matmul_shape *s, const kernel_tensor *c)
{
    const uint64_t rows = c->rank > 1 ? (uint64_t)c->shape[c->rank - 2] : 1;
    const uint64_t columns = c->rank > 0 ? (uint64_t)c->shape[c->rank - 1] : 1;
    if (c->rank > 2) return false;
    if (rows == 1 && columns == 1)
        s->bias = MATMUL_BIAS_SCALAR;
    else if (rows == 1)
        s->bias = MATMUL_BIAS_COLUMN;
    else
        s->bias = columns == 1 && s->n != 1 ? MATMUL_BIAS_ROW : MATMUL_BIAS_FULL;
    return true;
}

static bool describe_gemm(matmul_shape *s, const kernel_problem *u)
{
    const kernel_tensor *a = &u->inputs[0], *b = &u->inputs[1];
    const bool turn_a = op_attr_int(u->node, "transA", 0),
               turn_b = op_attr_int(u->node, "transB", 0);
    s->m = (uint64_t)a->shape[turn_a];
    s->k = (uint64_t)a->shape[!turn_a];
    s->n = (uint64_t)b->shape[!turn_b];
    s->a_row = turn_a ? 1 : s->k;
    s->a_column = turn_a ? s->m : 1;
    s->b_row = turn_b ? 1 : s->n;
    s->b_column = turn_b ? s->k : 1;
    s->alpha = (float)op_attr_float(u->node, "alpha", 1);
    s->beta = (float)op_attr_float(u->node, "beta", 1);
    return u->input_count < 3 || !u->inputs[2].dtype || describe_bias(s, &u->inputs[2]);
}

/* The fused operators: pgy:FusedMatMul, and com.microsoft:FusedMatMul without transBatchA and
 * transBatchB. */
static bool describe_fused(matmul_shape *s, const kernel_problem *u)
{
    static const char *const ACTIVATIONS[] = {
        [MATMUL_RELU] = "Relu", [MATMUL_SIGMOID] = "Sigmoid",    [MATMUL_TANH] = "Tanh",
        [MATMUL_GELU] = "Gelu", [MATMUL_FAST_GELU] = "FastGelu", [MATMUL_SILU] = "Silu"};
    if (op_attr_int(u->node, "transBatchA", 0) || op_attr_int(u->node, "transBatchB", 0) ||
        !describe_matmul(s, u))
        return false;
    s->alpha = (float)op_attr_float(u->node, "alpha", 1);
    for (uint32_t i = MATMUL_RELU; i <= MATMUL_SILU; i++)
        if (op_attr_is(u->node, "activation", ACTIVATIONS[i], "")) s->activation = i;
    return u->input_count < 3 || !u->inputs[2].dtype || describe_bias(s, &u->inputs[2]);
}

bool matmul_describe(matmul_shape *s, const kernel_problem *u)
{
    const char *op = u->node->def->name;
    *s = (matmul_shape){.batch = 1, .alpha = 1, .beta = 1};
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype && !is_float(&u->inputs[i])) return false;
    const bool known = strcmp(op, "Gemm") == 0     ? describe_gemm(s, u)
                       : strcmp(op, "MatMul") == 0 ? describe_matmul(s, u)
                                                   : describe_fused(s, u);
    return known && s->m && s->n && s->k && s->batch;
}

/* ---- The kernel ----------------------------------------------------------------------------- */

static bool matmul_accept(kernel_problem *u, double *cost_ns)
{
    const double flops_per_ns = u->self->rates[0];
    matmul_shape s;
    if (!matmul_describe(&s, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    /* Panels are filled up to their width. */
    const size_t wide = matmul_tile_of(u->self->needs)->columns;
    const uint64_t n = (s.n + wide - 1) / wide * wide;
    const double packing = u->inputs[1].data ? 0 : (double)(s.k * n * s.batch) * 0.3;
    *cost_ns = 2.0 * (double)(s.m * n * s.k * s.batch) / flops_per_ns +
               (double)(s.k * s.n) * 4 / 20 + packing;
    return true;
}

bool matmul_pack_products(void *to, const kernel_problem *u, const matmul_shape *s,
                          const matmul_tile *t, matmul_narrow *narrow, size_t products)
{
    const size_t each = matmul_packed_count(s, t) * (narrow ? sizeof(uint16_t) : sizeof(float));
    for (size_t i = 0; i < products; i++)
        if (!matmul_pack_bands((char *)to + i * each,
                               matmul_offset(s, s->b_batch, i) * sizeof(float), s, t, narrow, u))
            return false;
    return true;
}

static bool matmul_fill(void *to, const kernel_problem *u, const void *user)
{
    const params *p = user;
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    return matmul_pack_products(to, u, &p->s, t, NULL, p->b_shared ? 1 : p->s.batch);
}

kernel_packing matmul_packed_form(const matmul_shape *s, const matmul_tile *t, bool b_shared)
{
    kernel_packing how = {
        .form = "matmul", .inputs = 2, .numbers = {t->columns, s->n, s->k, s->b_row, s->b_column}};
    if (b_shared) return how;
    how.numbers[5] = s->batch;
    how.numbers[6] = hash_xxh64(s->batch_shape, sizeof s->batch_shape, 0);
    how.numbers[7] = hash_xxh64(s->b_batch, sizeof s->b_batch, 0);
    return how;
}

static pgy_status matmul_pack_constant(kernel_plan *out, const params *p, const matmul_tile *t,
                                       const kernel_problem *u, pgy_error *err)
{
    kernel_packing how = matmul_packed_form(&p->s, t, p->b_shared);
    how.size_bytes = (p->b_shared ? 1 : p->s.batch) * matmul_packed_count(&p->s, t) * sizeof(float);
    how.fill = matmul_fill;
    how.any_address = true;
    how.user = p;
    out->packed_inputs = 2;
    return kernel_pack(out, u, &how, err);
}

static pgy_status matmul_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    const cpu_level level = u->self->needs;
    const matmul_tile *t = matmul_tile_of(level);
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)matmul_describe(&p->s, u); /* cannot fail after `accept` */
    p->level = level;
    p->b_constant = u->inputs[1].data != NULL;
    p->inputs = (uint32_t)u->input_count;
    p->has_residual = u->input_count > 3 && u->inputs[3].dtype;
    p->b_shared = matmul_is_shared(p->s.b_batch, p->s.batch_rank);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 2, .in_place = -1};
    out->parts = matmul_most_parts(&p->s, t);
    out->scratch_bytes = matmul_scratch_count(&p->s, t) * sizeof(float);
    if (!p->b_constant) {
        out->workspace_bytes =
            (p->b_shared ? 1 : p->s.batch) * matmul_packed_count(&p->s, t) * sizeof(float);
        return PGY_OK;
    }
    out->phases = 1;
    const pgy_status st = matmul_pack_constant(out, p, t, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static bool matmul_f32_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count || p->inputs < 2) return extent_refuse(e, "number of inputs");
    if (!matmul_extent(e, &p->s, p->has_residual, p->inputs)) return false;
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const uint64_t columns = extent_round_up(p->s.n, t->columns);
    const uint64_t packed = extent_mul3(p->b_shared ? 1 : p->s.batch, columns, p->s.k);
    e->scratch = matmul_scratch_count(&p->s, t) * sizeof(float);
    if (p->b_constant) {
        e->packed = extent_mul(packed, sizeof(float));
        return true;
    }
    extent_tensor(e, 1, matmul_b_reach(&p->s), sizeof(float));
    e->workspace = extent_mul(packed, sizeof(float));
    e->phases = 2;
    return true;
}

static void matmul_packing(const kernel_run *r, const params *p, const matmul_tile *t)
{
    const size_t panels = matmul_panel_count(&p->s, t), each = matmul_packed_count(&p->s, t);
    size_t from, to;
    kernel_share(&from, &to, panels * (p->b_shared ? 1 : p->s.batch), r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const size_t product = i / panels, panel = i % panels;
        matmul_pack((float *)r->workspace + product * each,
                    (const float *)r->tensors[1] + matmul_offset(&p->s, p->s.b_batch, product),
                    &p->s, t, panel, panel + 1);
    }
}

static void matmul_run(const kernel_run *r)
{
    const params *p = r->params;
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    size_t from, to;
    if (!p->b_constant && r->phase == 0) {
        matmul_packing(r, p, t);
        return;
    }
    const matmul_data d = {.a = r->tensors[0],
                           .packed = p->b_constant ? r->packed : r->workspace,
                           .b_shared = p->b_shared,
                           .bias = p->s.bias != MATMUL_NO_BIAS ? r->tensors[2] : NULL,
                           .residual = p->has_residual ? r->tensors[3] : NULL,
                           .c = r->tensors[p->inputs]};
    kernel_share(&from, &to, matmul_unit_count(&p->s, t, r->parts), r->part, r->parts);
    for (size_t unit = from; unit < to && !cancel_requested(); unit++)
        matmul_unit(&p->s, t, r->parts, unit, &d, r->scratch);
}

#define ROW(suffix, level, flops_per_ns)                                                \
    {                                                                                   \
        .name = "matmul_f32_" #suffix, .version = 2,                                    \
        .ops = "MatMul Gemm pgy:FusedMatMul com.microsoft:FusedMatMul", .needs = level, \
        .rates = {flops_per_ns},                                                        \
        .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED | KERNEL_SHORT_PARTS,      \
        .accept = matmul_accept, .prepare = matmul_prepare, .run = matmul_run,          \
        .extent = matmul_f32_extent                                                     \
    }
const kernel KERNELS_matmul[] = {
    ROW(portable, CPU_PORTABLE, 12),
    ROW(avx2, CPU_AVX2, 85),
    ROW(avx512, CPU_AVX512, 90),
    {0},
};

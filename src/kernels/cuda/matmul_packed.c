/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of 16-bit floats with constant B on CUDA devices, whose B is packed when the plan
 * is made (packed.h). A row for each tile. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/cuda/matmul_packed.h"

enum { SQUARE = 64, FEW_ROWS = 8 }; /* few rows have a kernel of their own (narrow.cu) */

/* ---- The problem ---------------------------------------------------------------------------- */

static uint32_t tile_of(const kernel *self);

/* One product, whose rows are whole vectors of 8 elements. */
static bool has_shape(const cuda_matmul_params *p)
{
    const matmul_shape *s = &p->s;
    return cuda_is_half((pgy_dtype)p->type) && s->batch == 1 && s->a_column == 1 &&
           s->a_row % PACKED_VECTOR == 0 && s->k % PACKED_VECTOR == 0 && s->m > FEW_ROWS &&
           s->m <= INT32_MAX && s->n <= INT32_MAX && s->k <= INT32_MAX / 2 &&
           (s->bias == MATMUL_NO_BIAS || (s->bias == MATMUL_BIAS_COLUMN && s->beta == 1));
}

bool matmul_packed_describe(matmul_packed_params *p, const kernel_problem *u, uint32_t tile)
{
    memset(p, 0, sizeof *p);
    if (!u->inputs[1].data || !cuda_matmul_describe(&p->own, u) || !has_shape(&p->own))
        return false;
    p->cut = packed_cut_of(tile, p->own.s.m, p->own.s.n, p->own.s.k, 1);
    return true;
}

static bool matmul_packed_accept(kernel_problem *u, double *cost_ns)
{
    matmul_packed_params p;
    cuda_set_linear(u);
    if (!matmul_packed_describe(&p, u, tile_of(u->self))) return false;
    const double moved = cuda_cost(cuda_bytes(u), 0, true),
                 computed = 2500 + packed_cost(&p.cut, p.own.s.m, p.own.s.n, p.own.s.k, 1);
    *cost_ns = moved > computed ? moved : computed;
    return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* To [n][k], in squares that stay in the cache. */
static void pack_b(uint16_t *to, const uint16_t *from, const matmul_shape *s)
{
    for (uint64_t n0 = 0; n0 < s->n; n0 += SQUARE)
        for (uint64_t k0 = 0; k0 < s->k; k0 += SQUARE)
            for (uint64_t n = n0; n < least(n0 + SQUARE, s->n); n++)
                for (uint64_t k = k0; k < least(k0 + SQUARE, s->k); k++)
                    to[n * s->k + k] = from[k * s->b_row + n * s->b_column];
}

pgy_status matmul_packed_create(kernel_plan *out, const kernel_problem *u, uint32_t tile,
                                pgy_error *err)
{
    matmul_packed_params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)matmul_packed_describe(p, u, tile); /* cannot fail after `accept` */
    const matmul_shape *s = &p->own.s;
    const uint64_t bytes = s->n * s->k * sizeof(uint16_t);
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .packed = mem_alloc_aligned(64, bytes),
                         .packed_bytes = bytes,
                         .packed_inputs = 2,
                         .phases = 1,
                         .parts = 1,
                         .in_place = -1};
    if (!out->packed) {
        kernel_plan_deinit(out);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    pack_b(out->packed, u->inputs[1].data, s);
    return PGY_OK;
}

static pgy_status matmul_packed_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    return matmul_packed_create(out, u, tile_of(u->self), err);
}

/* ---- Plans from files ----------------------------------------------------------------------- */

bool matmul_packed_reach(kernel_extent *e, const kernel_claim *q, uint32_t tile)
{
    const matmul_packed_params *p = extent_params(e, q, sizeof *p);
    if (!p || !cuda_matmul_reach(e, q, &p->own)) return false;
    if (!has_shape(&p->own)) return extent_refuse(e, "product");
    if (!packed_cut_extent(e, &p->cut, tile)) return false;
    e->tensors[1] = 0;
    e->packed = extent_mul3(p->own.s.n, p->own.s.k, sizeof(uint16_t));
    e->workspace = 0;
    return true;
}

static bool matmul_packed_extent(kernel_extent *e, const kernel_claim *q)
{
    return matmul_packed_reach(e, q, tile_of(q->self));
}

/* ---- Running -------------------------------------------------------------------------------- */

packed_kind matmul_packed_kind(const matmul_packed_params *p)
{
    const cuda_matmul_params *o = &p->own;
    return (packed_kind){.types = {(pgy_dtype)o->type, (pgy_dtype)o->bias_type,
                                   (pgy_dtype)o->residual_type, (pgy_dtype)o->out_type},
                         .cut = p->cut,
                         .activation = cuda_matmul_activation(o),
                         .plain = true,
                         .vector = o->s.n % PACKED_VECTOR == 0,
                         .biased = o->s.bias != MATMUL_NO_BIAS,
                         .added = o->has_residual != 0};
}

pgy_status matmul_packed_load(void **out, const matmul_packed_params *p, device *d, pgy_error *err)
{
    const packed_kind kind = matmul_packed_kind(p);
    return packed_load(out, &kind, d, err);
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    (void)self;
    return matmul_packed_load(out, plan->params, d, err);
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

packed_call matmul_packed_call(const kernel_run *r)
{
    const matmul_packed_params *p = r->params;
    const matmul_shape *s = &p->own.s;
    return (packed_call){.x = address(r->tensors[0]),
                         .w = address(r->packed),
                         .bias = s->bias ? address(r->tensors[2]) : 0,
                         .residual = p->own.has_residual ? address(r->tensors[3]) : 0,
                         .y = address(r->tensors[p->own.inputs]),
                         .m = s->m,
                         .n = s->n,
                         .k = s->k,
                         .k_pitch = s->k,
                         .x_row = s->a_row,
                         .y_row = s->n,
                         .groups = 1,
                         .channels = (uint32_t)s->k,
                         .alpha = s->alpha};
}

pgy_status matmul_packed_enqueue(const kernel_run *r, const packed_loaded *l, device_stream *stream,
                                 pgy_error *err)
{
    const matmul_packed_params *p = r->params;
    packed_call c = matmul_packed_call(r);
    return packed_launch(stream, l, &p->cut, &c, err);
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    return matmul_packed_enqueue(r, r->loaded, stream, err);
}

#define ROW(tile)                                                                                 \
    {                                                                                             \
        .name = "matmul_packed_" tile, .version = 1,                                              \
        .ops = "MatMul Gemm pgy:FusedMatMul com.microsoft:FusedMatMul", .device = "cuda",         \
        .accept = matmul_packed_accept, .prepare = matmul_packed_prepare,                         \
        .extent = matmul_packed_extent, .load = load, .unload = packed_unload, .enqueue = enqueue \
    }
const kernel KERNELS_cuda_matmul_packed[] = {
    ROW("128x128"), ROW("128x64"), ROW("64x64"), ROW("short_128x64"), ROW("64x128"), {0},
};

static uint32_t tile_of(const kernel *self)
{
    return (uint32_t)(self - KERNELS_cuda_matmul_packed);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Many products of bytes on CUDA devices, neither side constant, with scales and zero points that
 * the plan knows, as attention between Q/DQ has them (byte_batch.cu). The problems are those of the
 * host's kernel, and results are equal bit for bit. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/cuda/byte_columns.h"
#include "kernels/int_matmul.h"
#include "kernels/int_problem.h"

enum { TILE = 8, SIDE = 64, THREADS = 128, MOST_K = 8192, WORD = 4, INPUTS = 8 };

typedef struct params {
    int_matmul m;
    double scale;
    int32_t a_zero, b_zero;
    uint32_t y_signed, unused;
} params;

static uint64_t ratio_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t blocks_of(const int_matmul *m)
{
    return extent_mul3(m->batch, ratio_up(m->m, SIDE), ratio_up(m->n, SIDE));
}

static bool has_sizes(const int_matmul *m)
{
    return m->m <= INT32_MAX / 2 && m->n <= INT32_MAX / 2 && m->k <= MOST_K &&
           m->k % BYTE_CHUNK == 0 && m->n % BYTE_CHUNK == 0 && m->batch_rank <= PACKED_BATCH_AXES &&
           blocks_of(m) <= INT32_MAX;
}

static bool is_plain(const int_matmul *m)
{
    return m->kind == INT_MATMUL_TO_BYTES && !m->a_float && !m->turn_a && m->a_zeros <= 1 &&
           m->b_zeros <= 1 && m->b_scales == 1 && m->at.a_scale && m->at.b_scale && m->at.y_scale &&
           !m->at.bias && !m->at.sum;
}

static bool is_known(const kernel_problem *u, size_t place)
{
    return !place || u->inputs[place].data;
}

static bool byte_batch_describe(params *p, const kernel_problem *u)
{
    memset(p, 0, sizeof *p);
    if (u->input_count != INPUTS || !int_matmul_describe(&p->m, u)) return false;
    const int_matmul_places *at = &p->m.at;
    p->m.b_constant = 0;
    if (!is_plain(&p->m) || !has_sizes(&p->m) || !is_known(u, at->a_scale) ||
        !is_known(u, at->a_zero) || !is_known(u, at->b_scale) || !is_known(u, at->b_zero))
        return false;
    p->scale = int_problem_float(u, at->a_scale, 0) * int_problem_float(u, at->b_scale, 0) /
               int_problem_float(u, at->y_scale, 0);
    if (at->a_zero) p->a_zero = (int32_t)int_problem_int(u, at->a_zero, 0);
    if (at->b_zero) p->b_zero = (int32_t)int_problem_int(u, at->b_zero, 0);
    p->y_signed = u->outputs[0].dtype == PGY_I8;
    return true;
}

static bool byte_batch_accept(kernel_problem *u, double *cost_ns)
{
    const double tile_ns = 900, step_ns = 150, at_once = 132 * 5;
    params p;
    cuda_set_linear(u);
    if (!byte_batch_describe(&p, u)) return false;
    const double waves = (double)ratio_up(blocks_of(&p.m), (uint64_t)at_once),
                 computed = 2500 + waves * (tile_ns + step_ns * (double)ratio_up(p.m.k, 2 * SIDE)),
                 moved = cuda_cost(cuda_bytes(u), 0, true);
    *cost_ns = moved > computed ? moved : computed;
    return true;
}

static pgy_status byte_batch_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)byte_batch_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){
        .params = p, .params_bytes = sizeof *p, .phases = 1, .parts = 1, .in_place = -1};
    return PGY_OK;
}

static bool byte_batch_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_enum(e, p->m.kind, INT_MATMUL_TO_FLOAT + 1, "kind") ||
        !int_matmul_reach(e, q, &p->m))
        return false;
    if (q->input_count != INPUTS || !is_plain(&p->m) || p->m.b_constant)
        return extent_refuse(e, "product");
    if (!has_sizes(&p->m)) return extent_refuse(e, "shape");
    if (!extent_between(p->a_zero, INT8_MIN, UINT8_MAX + 1) ||
        !extent_between(p->b_zero, INT8_MIN, UINT8_MAX + 1))
        return extent_refuse(e, "zero points");
    return true;
}

static packed_kind kind_of(const params *p)
{
    const int_matmul *m = &p->m;
    packed_kind k = {.types = {.x = m->a_signed ? PGY_I8 : PGY_U8,
                               .bias = PGY_F32,
                               .residual = PGY_F32,
                               .y = PGY_U8,
                               .w = m->b_signed ? PGY_I8 : PGY_U8},
                     .cut = {.tile = TILE, .splits = 1},
                     .finish = PACKED_TO_BYTES,
                     .plain = true,
                     .vector = true,
                     .direct = true};
    byte_columns_limit(&k, &m->finish);
    return k;
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    const params *p = plan->params;
    const packed_kind kind = kind_of(p);
    const cuda_source source = packed_text(&kind, "byte_batch", CUDA_SOURCE_byte_batch);
    str defines = {0};
    (void)self;
    packed_define(&defines, &kind, 1);
    cuda_define_int(&defines, "BATCHED", 1);
    cuda_define_int(&defines, "TURNED", p->m.turn_b != 0);
    cuda_define_int(&defines, "STEP_PARTS", p->m.k > 64 ? 8 : p->m.k > 32 ? 4 : 2);
    cuda_define_int(&defines, "ZERO_A", p->a_zero);
    cuda_define_int(&defines, "ZERO_B", p->b_zero);
    return cuda_load(out, d, &source, &defines, err);
}

static uint64_t address(const kernel_run *r, size_t i)
{
    return (uint64_t)(uintptr_t)r->tensors[i];
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    const int_matmul *m = &p->m;
    const cuda_loaded *l = r->loaded;
    packed_call c = {.x = address(r, 0),
                     .w = address(r, m->at.b),
                     .y = address(r, m->inputs),
                     .m = m->m,
                     .n = m->n,
                     .k = m->k,
                     .zero = m->finish.zero,
                     .low = m->finish.low,
                     .high = m->finish.high,
                     .loose = {.alpha = p->scale, .batch_rank = m->batch_rank}};
    byte_columns_bound(&c.first, &c.second, p->scale, (double)m->k * 255 * 255);
    memcpy(c.loose.batch_shape, m->batch_shape, sizeof c.loose.batch_shape);
    memcpy(c.loose.a_batch, m->a_batch, sizeof c.loose.a_batch);
    memcpy(c.loose.b_batch, m->b_batch, sizeof c.loose.b_batch);
    return cuda_launch_shared(stream, l->functions[0], blocks_of(m), THREADS, packed_room(TILE, 0),
                              &c, err);
}

const kernel KERNELS_cuda_byte_batch[] = {
    {.name = "matmul_bytes_batch",
     .version = 1,
     .ops = "QLinearMatMul pgy:QLinearMatMul",
     .device = "cuda",
     .accept = byte_batch_accept,
     .prepare = byte_batch_prepare,
     .extent = byte_batch_extent,
     .load = load,
     .unload = cuda_unload,
     .enqueue = enqueue},
    {0},
};

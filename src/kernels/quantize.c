/* SPDX-License-Identifier: Apache-2.0 */
/* QuantizeLinear and DequantizeLinear between float32 and integers or float8, and DequantizeLinear
 * from floats and integers of fewer bits. A scale applies to the tensor, to one index of an axis,
 * or to one block. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/extent.h"
#include "kernels/int_problem.h"
#include "kernels/quantize_loops.h"
#include "kernels/shared_params.h"
#include "tensor/convert.h"

enum { PIECE = 16384 }; /* elements in a unit of work */

typedef quantize_params params;

static bool read_axis(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *s = &u->inputs[1];
    int64_t axis = op_attr_int(u->node, "axis", 1);
    const int64_t block = op_attr_int(u->node, "block_size", 0);
    if (axis < 0) axis += x->rank;
    if (axis < 0 || axis >= x->rank || block < 0) return false;
    p->size = (uint64_t)x->shape[axis];
    p->inner = 1;
    for (int64_t d = axis + 1; d < x->rank; d++) p->inner *= (uint64_t)x->shape[d];
    p->blocked = block > 0;
    p->block = block ? (uint64_t)block : 1;
    p->blocks = (p->size + p->block - 1) / p->block;
    if (!p->blocked) return s->rank == 1 && (uint64_t)s->shape[0] == p->size;
    if (s->rank != x->rank) return false;
    for (int32_t d = 0; d < x->rank; d++)
        if (s->shape[d] != (d == axis ? (int64_t)p->blocks : x->shape[d])) return false;
    return true;
}

static bool is_integer(pgy_dtype t)
{
    return t == PGY_U8 || t == PGY_I8 || t == PGY_U16 || t == PGY_I16;
}

static bool is_float8(pgy_dtype t)
{
    return t == PGY_F8E4M3FN || t == PGY_F8E4M3FNUZ || t == PGY_F8E5M2 || t == PGY_F8E5M2FNUZ;
}

/* Sets the limits of the quantised type. */
static void set_limits(params *p)
{
    const unsigned bits = pgy_dtype_describe((pgy_dtype)p->type)->bits;
    const bool is_signed = p->type == PGY_I8 || p->type == PGY_I16;
    if (!p->quantises || is_float8((pgy_dtype)p->type)) return;
    p->low = is_signed ? -(1 << (bits - 1)) : 0;
    p->high = (1 << (bits - is_signed)) - 1;
}

static bool quantize_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *s = &u->inputs[1], *y = &u->outputs[0];
    *p = (params){.quantises = strcmp(u->node->def->name, "QuantizeLinear") == 0,
                  .inputs = (uint32_t)u->input_count,
                  .has_zero = int_problem_has(u, 2),
                  .count = kernel_count(x),
                  .size = 1,
                  .inner = kernel_count(x),
                  .block = 1,
                  .blocks = 1};
    p->type = p->quantises ? y->dtype : x->dtype;
    if (s->dtype != PGY_F32 || !p->count) return false;
    if ((p->quantises ? x->dtype : y->dtype) != PGY_F32) return false;
    if (p->quantises && !is_integer((pgy_dtype)p->type) &&
        !(is_float8((pgy_dtype)p->type) && op_attr_int(u->node, "saturate", 1)))
        return false;
    if (!p->quantises && (p->type == PGY_BOOL || p->type == PGY_STRING || p->type == PGY_F64 ||
                          p->type == PGY_I64 || p->type == PGY_U64 || p->type == PGY_U32))
        return false;
    if (p->quantises && op_attr_int(u->node, "precision", 0) > 1) return false;
    if (p->has_zero && (u->inputs[2].dtype != (pgy_dtype)p->type ||
                        kernel_count(&u->inputs[2]) != kernel_count(s)))
        return false;
    set_limits(p);
    p->per_tensor = kernel_count(s) == 1 && s->rank <= 1;
    return p->per_tensor || read_axis(p, u);
}

static bool quantize_accept(kernel_problem *u, double *cost_ns)
{
    const double ns = u->self->rates[0];
    params p;
    if (!quantize_describe(&p, u)) return false;
    const bool fast = is_integer((pgy_dtype)p.type) || p.type == PGY_I32;
    int_problem_linear(u);
    *cost_ns = 100 + (double)p.count * (fast ? ns : 5);
    return true;
}

static pgy_status quantize_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)quantize_describe(p, u); /* cannot fail after `accept` */
    p->level = u->self->needs;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t parts = (p->count + PIECE - 1) / PIECE;
    out->parts = (uint32_t)(parts < 256 ? parts : 256);
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool is_known_type(const params *p)
{
    const pgy_dtype type = (pgy_dtype)p->type;
    if (p->quantises) return is_integer(type) || is_float8(type);
    return pgy_dtype_describe(type)->bits && type != PGY_BOOL && type != PGY_STRING &&
           type != PGY_F64 && type != PGY_I64 && type != PGY_U64 && type != PGY_U32;
}

/* The number of scales that find_scale may index; EXTENT_TOO_MUCH if the members contradict each
 * other. */
static uint64_t scale_count(const params *p)
{
    const uint64_t each = extent_mul(p->size, p->inner);
    if (p->per_tensor) return 1;
    if (!each || each == EXTENT_TOO_MUCH || p->count % each || !p->block) return EXTENT_TOO_MUCH;
    if (!p->blocked) return p->size;
    if (p->blocks != p->size / p->block + (p->size % p->block != 0)) return EXTENT_TOO_MUCH;
    return extent_mul3(p->count / each, p->blocks, p->inner);
}

static uint64_t bytes_of(uint64_t count, unsigned bits)
{
    const uint64_t all = extent_mul(count, bits);
    return all == EXTENT_TOO_MUCH ? all : all / 8 + (all % 8 != 0);
}

static bool quantize_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count || p->inputs < 2 + (uint32_t)(p->has_zero != 0))
        return extent_refuse(e, "number of inputs");
    if (!is_known_type(p)) return extent_refuse(e, "type");
    params limits = {.quantises = p->quantises, .type = p->type};
    set_limits(&limits);
    if (p->low != limits.low || p->high != limits.high) return extent_refuse(e, "limits");
    const unsigned bits = pgy_dtype_describe((pgy_dtype)p->type)->bits;
    const uint64_t scales = scale_count(p);
    extent_tensor(e, p->quantises ? p->inputs : 0, bytes_of(p->count, bits), 1);
    extent_tensor(e, p->quantises ? 0 : p->inputs, p->count, sizeof(float));
    extent_tensor(e, 1, scales, sizeof(float));
    if (p->has_zero) extent_tensor(e, 2, bytes_of(scales, bits), 1);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static int32_t quantize_zero_at(const params *p, const kernel_run *r, size_t k)
{
    return p->has_zero ? (int32_t)element_as_i64((pgy_dtype)p->type, r->tensors[2], k) : 0;
}

/* To float8, where numbers that are too large become the largest one. */
static void quantize_float8(const params *p, const kernel_run *r, size_t at, size_t n, size_t k)
{
    const pgy_dtype type = (pgy_dtype)p->type;
    const float scale = ((const float *)r->tensors[1])[k];
    const double zero = p->has_zero ? element_as_f64(type, r->tensors[2], k) : 0;
    const float *x = (const float *)r->tensors[0] + at;
    uint8_t *y = (uint8_t *)r->tensors[p->inputs] + at;
    for (size_t i = 0; i < n; i++) y[i] = f8_from_f64(type, (double)(x[i] / scale) + zero, true);
}

static void quantize(const params *p, const kernel_run *r, size_t at, size_t n, size_t k)
{
    const quantize_loops *loops = quantize_loops_of((cpu_level)p->level);
    const quantize_to q = {.scale = ((const float *)r->tensors[1])[k],
                           .zero = quantize_zero_at(p, r, k),
                           .low = p->low,
                           .high = p->high};
    const float *x = (const float *)r->tensors[0] + at;
    void *y = r->tensors[p->inputs];
    if (p->type == PGY_U8 || p->type == PGY_I8)
        loops->to_8((uint8_t *)y + at, x, n, &q);
    else
        loops->to_16((uint16_t *)y + at, x, n, &q);
}

/* Dequantises types that have no loop of their own. */
static void dequantize_any(const params *p, const kernel_run *r, size_t at, size_t n, size_t k)
{
    const pgy_dtype type = (pgy_dtype)p->type;
    const double scale = (double)((const float *)r->tensors[1])[k];
    const double zero = p->has_zero ? element_as_f64(type, r->tensors[2], k) : 0;
    float *y = (float *)r->tensors[p->inputs] + at;
    for (size_t i = 0; i < n; i++)
        y[i] = (float)((element_as_f64(type, r->tensors[0], at + i) - zero) * scale);
}

static void dequantize(const params *p, const kernel_run *r, size_t at, size_t n, size_t k)
{
    const quantize_loops *loops = quantize_loops_of((cpu_level)p->level);
    const float scale = ((const float *)r->tensors[1])[k];
    const int32_t zero =
        is_integer((pgy_dtype)p->type) || p->type == PGY_I32 ? quantize_zero_at(p, r, k) : 0;
    const char *x = r->tensors[0];
    float *y = (float *)r->tensors[p->inputs] + at;
    switch ((int)p->type) {
    case PGY_U8: loops->from_u8(y, (const uint8_t *)x + at, n, zero, scale); break;
    case PGY_I8: loops->from_i8(y, (const int8_t *)x + at, n, zero, scale); break;
    case PGY_U16: loops->from_u16(y, (const uint16_t *)x + at, n, zero, scale); break;
    case PGY_I16: loops->from_i16(y, (const int16_t *)x + at, n, zero, scale); break;
    case PGY_I32: loops->from_i32(y, (const int32_t *)x + at, n, zero, scale); break;
    default: dequantize_any(p, r, at, n, k); break;
    }
}

/* Returns the index of element i's scale; *run elements from i on share it. */
static size_t find_scale(const params *p, size_t i, size_t *run)
{
    *run = p->count - i;
    if (p->per_tensor) return 0;
    const size_t along = i / p->inner % p->size;
    *run = p->inner - i % p->inner;
    if (!p->blocked) return along;
    if (p->inner == 1) {
        const size_t left = p->block - along % p->block, line = p->size - along;
        *run = left < line ? left : line;
    } else {
        *run = 1;
    }
    return (i / p->inner / p->size * p->blocks + along / p->block) * p->inner + i % p->inner;
}

static void quantize_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to, n;
    kernel_share(&from, &to, (p->count + PIECE - 1) / PIECE, r->part, r->parts);
    const size_t end = to * PIECE < p->count ? to * PIECE : p->count;
    for (size_t i = from * PIECE; i < end; i += n) {
        const size_t k = find_scale(p, i, &n);
        if (n > end - i) n = end - i;
        if (p->quantises && is_float8((pgy_dtype)p->type))
            quantize_float8(p, r, i, n, k);
        else if (p->quantises)
            quantize(p, r, i, n, k);
        else
            dequantize(p, r, i, n, k);
    }
}

#define ROW(suffix, level, ns)                                                                 \
    {                                                                                          \
        .name = "quantize_" #suffix, .version = 1,                                             \
        .ops = "QuantizeLinear DequantizeLinear com.microsoft:QuantizeLinear "                 \
               "com.microsoft:DequantizeLinear",                                               \
        .needs = level, .rates = {ns}, .accept = quantize_accept, .prepare = quantize_prepare, \
        .run = quantize_run, .extent = quantize_extent                                         \
    }
const kernel KERNELS_quantize[] = {
    ROW(portable, CPU_PORTABLE, 1),
    ROW(avx2, CPU_AVX2, 0.2),
    ROW(avx512, CPU_AVX512, 0.15),
    {0},
};

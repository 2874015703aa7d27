/* SPDX-License-Identifier: Apache-2.0 */
/* Steps on quantised bytes that are no products: QuantizeLinear, DequantizeLinear, tables, sums and
 * products of elements, pools. The problems are those of the host's kernels, and so are the
 * results, bit for bit. */
#include <string.h>

#include "kernels/cuda/adapted.h"
#include "kernels/cuda/byte_sums.h"
#include "kernels/cuda/pointwise.h"
#include "kernels/shared_params.h"

extern const kernel KERNELS_quantize[], KERNELS_lookup[], KERNELS_qlinear[], KERNELS_byte_pool[],
    KERNELS_byte_pool_last[];

static uint64_t address(const adapted_run *r, uint32_t i)
{
    return (uint64_t)(uintptr_t)r->run->tensors[i];
}

static bool none_is_float(const void *inner, uint32_t inputs, uint32_t i)
{
    (void)inner, (void)inputs, (void)i;
    return false;
}

/* The largest number of elements in a vector access that divides all sizes. */
static uint32_t vector_of(uint32_t most, const uint64_t *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        while (sizes[i] % most) most /= 2;
    return most;
}

/* ---- QuantizeLinear, DequantizeLinear -------------------------------------------------------- */

/* Arguments of quantize.cu: the same struct as there. */
typedef struct quantize_call {
    uint64_t x, scale, zero, y, units, size, inner, block, blocks;
    uint32_t per_tensor, blocked;
    int32_t low, high;
} quantize_call;

static bool can_quantize(const kernel_problem *u)
{
    static const pgy_dtype TYPES[] = {PGY_U8,  PGY_I8,       PGY_U16,   PGY_I16,
                                      PGY_I32, PGY_F8E4M3FN, PGY_F8E5M2};
    const bool quantises = strcmp(u->node->def->name, "QuantizeLinear") == 0;
    const pgy_dtype type = quantises ? u->outputs[0].dtype : u->inputs[0].dtype;
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (type == TYPES[i])
            return cuda_is_float(quantises ? u->inputs[0].dtype : u->outputs[0].dtype);
    return false;
}

static bool quantize_is_float(const void *inner, uint32_t inputs, uint32_t i)
{
    const quantize_params *p = inner;
    return i == 1 || i == (p->quantises ? 0 : inputs);
}

static uint32_t quantize_vector(const quantize_params *p)
{
    const uint64_t sizes[] = {p->count, p->per_tensor ? p->count : p->blocked ? 1 : p->inner};
    return vector_of(8, sizes, 2);
}

static void load_quantize(cuda_source *s, str *defines, const adapted_params *a, const void *inner)
{
    const quantize_params *p = inner;
    *s = (cuda_source){
        "quantize", CUDA_SOURCE_quantize, {"run"}, {CUDA_SOURCE_bytes, CUDA_SOURCE_fp8}};
    cuda_define_int(defines, "FLOAT8", cuda_is_float8((pgy_dtype)p->type));
    cuda_define_type(defines, "X", (pgy_dtype)(p->quantises ? a->types[0] : p->type));
    cuda_define_type(defines, "Y", (pgy_dtype)(p->quantises ? p->type : a->types[a->inputs]));
    cuda_define_type(defines, "SCALE", (pgy_dtype)a->types[1]);
    cuda_define_type(defines, "ZERO", (pgy_dtype)p->type);
    cuda_define_int(defines, "QUANTISES", p->quantises != 0);
    cuda_define_int(defines, "VECTOR", quantize_vector(p));
}

static pgy_status launch_quantize(const adapted_run *r, pgy_error *err)
{
    const quantize_params *p = r->inner;
    quantize_call c = {.x = address(r, 0),
                       .scale = address(r, 1),
                       .zero = p->has_zero ? address(r, 2) : 0,
                       .y = address(r, r->a->inputs),
                       .units = p->count / quantize_vector(p),
                       .size = p->size,
                       .inner = p->inner,
                       .block = p->block,
                       .blocks = p->blocks,
                       .per_tensor = p->per_tensor,
                       .blocked = p->blocked,
                       .low = p->low,
                       .high = p->high};
    return cuda_launch_for(r->stream, r->loaded->functions[0], c.units, CUDA_BLOCK, &c, err);
}

const adapted_family ADAPTED_QUANTIZE = {.inner = &KERNELS_quantize[0],
                                         .is_float = quantize_is_float,
                                         .can = can_quantize,
                                         .load = load_quantize,
                                         .launch = launch_quantize};

/* ---- Tables ---------------------------------------------------------------------------------- */

/* Arguments of lookup.cu: the same struct as there. */
typedef struct lookup_call {
    uint64_t x, y, rows, units, pitch;
    uint8_t table[LOOKUP_VALUES];
} lookup_call;

static uint32_t lookup_vector(const lookup_params *p)
{
    return vector_of(16, p->ends, p->segments);
}

static void load_lookup(cuda_source *s, str *defines, const adapted_params *a, const void *inner)
{
    (void)a;
    *s = (cuda_source){.name = "lookup", .text = CUDA_SOURCE_lookup, .entries = {"run"}};
    cuda_define_int(defines, "VECTOR", lookup_vector(inner));
}

static pgy_status launch_lookup(const adapted_run *r, pgy_error *err)
{
    const lookup_params *p = r->inner;
    const uint32_t vector = lookup_vector(p);
    uint64_t start = 0;
    pgy_status st = PGY_OK;
    for (uint32_t i = 0; !st && i < p->segments; start = p->ends[i++]) {
        lookup_call c = {.x = address(r, p->place[i]),
                         .y = address(r, r->a->inputs) + start,
                         .rows = p->rows,
                         .units = (p->ends[i] - start) / vector,
                         .pitch = p->row_bytes};
        memcpy(c.table, p->table[i], sizeof c.table);
        st = cuda_launch_for(r->stream, r->loaded->functions[0], c.rows * c.units, CUDA_BLOCK, &c,
                             err);
    }
    return st;
}

const adapted_family ADAPTED_LOOKUP = {.inner = &KERNELS_lookup[0],
                                       .is_float = none_is_float,
                                       .load = load_lookup,
                                       .launch = launch_lookup};

/* ---- Sums and products of elements ----------------------------------------------------------- */

static pointwise describe_binary(const qlinear_params *p, const byte_binary_call *c)
{
    return (pointwise){.w = &p->w,
                       .operands = 2,
                       .types = {"u8", "u8"},
                       .out = "u8",
                       .items = {1, 1},
                       .out_item = 1,
                       .more = c,
                       .more_bytes = sizeof *c};
}

static void load_binary(cuda_source *s, str *defines, const adapted_params *a, const void *inner)
{
    const qlinear_params *p = inner;
    const pointwise w = describe_binary(p, NULL);
    (void)a;
    pointwise_write(s, defines, &w, "",
                    p->q.multiplies ? "byte_product(x0, x1, &a.more)"
                                    : "byte_sum(x0, x1, &a.more)");
    s->before[0] = CUDA_SOURCE_bytes;
    s->before[1] = CUDA_SOURCE_byte_binary;
}

static pgy_status launch_binary(const adapted_run *r, pgy_error *err)
{
    const qlinear_params *p = r->inner;
    const byte_binary_call c = byte_binary_call_of(&p->q);
    const pointwise w = describe_binary(p, &c);
    void *const x[] = {r->run->tensors[0], r->run->tensors[3]};
    return pointwise_launch(r->stream, r->loaded, &w, r->run->tensors[r->a->inputs], x, err);
}

const adapted_family ADAPTED_QLINEAR = {.inner = &KERNELS_qlinear[0],
                                        .is_float = none_is_float,
                                        .load = load_binary,
                                        .launch = launch_binary};

/* ---- Pools ----------------------------------------------------------------------------------- */

/* Arguments of byte_pool.cu: the same struct as there. */
typedef struct pool_call {
    uint64_t x, y, batch, units;
    int64_t in[POOL_AXES], out[POOL_AXES], window[POOL_AXES], stride[POOL_AXES],
        dilation[POOL_AXES], begin[POOL_AXES], end[POOL_AXES];
    double x_scale, y_scale;
    byte_limits limits;
    int32_t x_zero;
    uint32_t flip, count_padding;
} pool_call;

static void set_scales(pool_call *c, const byte_pool_scales *s)
{
    c->x_scale = s->x;
    c->y_scale = s->y;
    c->x_zero = s->x_zero;
    c->limits = byte_limits_of(&s->finish);
}

static pgy_status launch_pool(const adapted_run *r, pool_call c, pgy_error *err)
{
    c.x = address(r, 0);
    c.y = address(r, r->a->inputs);
    const uint64_t places = (uint64_t)(c.out[0] * c.out[1] * c.out[2]);
    return cuda_launch_for(r->stream, r->loaded->functions[0], c.batch * places * c.units,
                           CUDA_BLOCK, &c, err);
}

/* Do numbers of pixels and places fit 32 bits? */
static bool is_small(const pool_call *c)
{
    const int64_t most = INT32_MAX / 4;
    uint64_t pixels = c->batch;
    for (int d = 0; d < POOL_AXES; d++) {
        pixels = extent_mul(pixels, (uint64_t)c->in[d]);
        if (c->in[d] + c->begin[d] + c->end[d] > most ||
            c->out[d] * c->stride[d] + c->window[d] * c->dilation[d] > most)
            return false;
    }
    return pixels <= INT32_MAX;
}

static void write_pool(cuda_source *s, str *defines, bool mean, uint32_t vector, const pool_call *c)
{
    *s = (cuda_source){"byte_pool", CUDA_SOURCE_byte_pool, {"run"}, {CUDA_SOURCE_bytes}};
    cuda_define_int(defines, "MEAN", mean);
    cuda_define_int(defines, "VECTOR", vector);
    cuda_define(defines, "PLACE", is_small(c) ? "int32_t" : "int64_t");
}

/* A global pool has a window as large as the plane. */
static pool_call planes_call(const byte_pool_params *p)
{
    pool_call c = {
        .batch = p->planes, .units = 1, .flip = p->flip, .count_padding = p->count_padding};
    const bool global = p->kind == BYTE_POOL_MEAN_OF_ALL;
    for (int d = 0; d < POOL_AXES; d++) {
        c.in[d] = p->axes.in[d];
        c.out[d] = p->axes.out[d];
        c.window[d] = global ? p->axes.in[d] : p->axes.window[d];
        c.stride[d] = global ? 1 : p->axes.stride[d];
        c.dilation[d] = global ? 1 : p->axes.dilation[d];
        c.begin[d] = global ? 0 : p->axes.begin[d];
        c.end[d] = global ? 0 : p->axes.end[d];
    }
    set_scales(&c, &p->scales);
    return c;
}

static void load_planes(cuda_source *s, str *defines, const adapted_params *a, const void *inner)
{
    const byte_pool_params *p = inner;
    const pool_call c = planes_call(p);
    (void)a;
    write_pool(s, defines, p->kind != BYTE_POOL_MAX, 1, &c);
}

static pgy_status launch_planes(const adapted_run *r, pgy_error *err)
{
    return launch_pool(r, planes_call(r->inner), err);
}

const adapted_family ADAPTED_BYTE_POOL = {.inner = &KERNELS_byte_pool[0],
                                          .is_float = none_is_float,
                                          .load = load_planes,
                                          .launch = launch_planes};

static uint32_t channels_vector(const byte_pool_last_params *p)
{
    return vector_of(p->global ? 4 : 16, &p->channels, 1);
}

static pool_call pixels_call(const byte_pool_last_params *p)
{
    pool_call c = {.batch = p->batch,
                   .units = p->channels / channels_vector(p),
                   .flip = p->flip,
                   .count_padding = p->count_padding};
    for (int d = 0; d < POOL_AXES; d++) {
        c.in[d] = c.window[d] = p->global && d < 2 ? 1 : p->w.size[d];
        c.out[d] = p->global ? 1 : p->w.out[d];
        c.stride[d] = c.dilation[d] = 1;
        if (p->global) continue;
        c.window[d] = p->w.kernel[d];
        c.stride[d] = p->w.stride[d];
        c.dilation[d] = p->w.dilation[d];
        c.begin[d] = p->w.pad[d];
        c.end[d] = p->end[d];
    }
    set_scales(&c, &p->scales);
    return c;
}

static void load_pixels(cuda_source *s, str *defines, const adapted_params *a, const void *inner)
{
    const byte_pool_last_params *p = inner;
    const pool_call c = pixels_call(p);
    (void)a;
    write_pool(s, defines, p->mean != 0, channels_vector(p), &c);
}

static pgy_status launch_pixels(const adapted_run *r, pgy_error *err)
{
    return launch_pool(r, pixels_call(r->inner), err);
}

const adapted_family ADAPTED_BYTE_POOL_LAST = {.inner = &KERNELS_byte_pool_last[0],
                                               .is_float = none_is_float,
                                               .load = load_pixels,
                                               .launch = launch_pixels};

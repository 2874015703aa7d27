/* SPDX-License-Identifier: Apache-2.0 */
/* GatherBlockQuantized on integers: rows of a table are dequantised as they are read, so that a
 * table of embeddings stays packed. A line is what lies along the last axis. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/half.h"
#include "tensor/convert.h"

enum { DATA, INDICES, SCALES, ZEROS };
enum { RUN = 256, MAX_PARTS = 64 };

typedef struct params {
    uint32_t bits, is_signed, wide; /* wide: indices are int64 */
    uint32_t dtype;                 /* of scales and results */
    uint32_t has_zeros, inputs;
    int32_t middle;                       /* zero point if there are none */
    uint32_t along_line;                  /* blocks lie along the last axis */
    uint64_t outer, length, inner, count; /* around the gathered axis; number of indices */
    uint64_t width;                       /* elements of a line */
    uint64_t block;
    /* If blocks lie along another axis: its length, and the lines behind one step of it. */
    uint64_t steps, lines;
    uint64_t scale_width, zero_width; /* scales and zero points for a line */
} params;

/* ---- Reading the problem -------------------------------------------------------------------- */

static uint64_t gather_quantized_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static bool find_axis(size_t *out, const kernel_problem *u, const char *name, int64_t usual)
{
    const int64_t axis = op_attr_int(u->node, name, usual), rank = u->inputs[DATA].rank;
    *out = (size_t)(axis < 0 ? axis + rank : axis);
    return axis >= -rank && axis < rank;
}

static bool has_zeros(const kernel_problem *u)
{
    return u->input_count > ZEROS && u->inputs[ZEROS].dtype;
}

static bool read_types(params *p, const kernel_problem *u)
{
    const pgy_dtype data = u->inputs[DATA].dtype, scales = u->inputs[SCALES].dtype;
    const pgy_dtype indices = u->inputs[INDICES].dtype;
    const bool packed = data == PGY_U8;
    *p = (params){.bits = packed ? (uint32_t)op_attr_int(u->node, "bits", 4) : 4,
                  .is_signed = data == PGY_I4 || data == PGY_I8,
                  .wide = indices == PGY_I64,
                  .dtype = (uint32_t)scales,
                  .has_zeros = has_zeros(u),
                  .inputs = (uint32_t)u->input_count,
                  .outer = 1,
                  .inner = 1,
                  .steps = 1,
                  .lines = 1,
                  .block = (uint64_t)op_attr_int(u->node, "block_size", 128)};
    if (data == PGY_I8) p->bits = 8;
    if (packed) p->middle = 1 << (p->bits - 1);
    return (packed || data == PGY_I8 || data == PGY_I4 || data == PGY_U4) &&
           (indices == PGY_I64 || indices == PGY_I32) && (scales == PGY_F32 || half_is(scales)) &&
           u->outputs[0].dtype == scales && p->block &&
           (!p->has_zeros || u->inputs[ZEROS].dtype == data);
}

static bool gather_quantized_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *data = &u->inputs[DATA], *scales = &u->inputs[SCALES];
    size_t axis, along;
    if (u->input_count < 3 || !read_types(p, u) || data->rank < 1 || scales->rank != data->rank ||
        !find_axis(&axis, u, "gather_axis", 0) || !find_axis(&along, u, "quantize_axis", 1))
        return false;
    const size_t last = (size_t)data->rank - 1;
    const uint64_t per = data->dtype == PGY_U8 ? 8 / p->bits : 1;
    for (size_t d = 0; d <= last; d++) {
        const uint64_t size = (uint64_t)data->shape[d] * (d == last ? per : 1);
        const uint64_t wanted = d == along ? gather_quantized_up(size, p->block) : size;
        if ((uint64_t)scales->shape[d] != wanted) return false;
        if (d < axis) p->outer *= size;
        if (d == axis) p->length = size;
        if (d > axis) p->inner *= size;
        if (d == along && d < last) p->steps = size;
        if (d > along && d < last) p->lines *= size;
        if (d == last) p->width = size;
    }
    p->along_line = along == last;
    p->count = kernel_count(&u->inputs[INDICES]);
    p->scale_width = (uint64_t)scales->shape[last];
    p->zero_width = gather_quantized_up(p->scale_width, per) * per;
    if (p->has_zeros && p->scale_width &&
        kernel_count(&u->inputs[ZEROS]) !=
            kernel_count(scales) / p->scale_width * (p->zero_width / per))
        return false;
    return kernel_count(&u->outputs[0]) && p->length && p->steps && p->lines;
}

/* ---- The kernel ----------------------------------------------------------------------------- */

static bool gather_quantized_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!gather_quantized_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)(p.outer * p.count) * (10 + (double)p.inner);
    return true;
}

static pgy_status gather_quantized_prepare(kernel_plan *out, const kernel_problem *u,
                                           pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)gather_quantized_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t rows = p->outer * p->count, parts = rows * p->inner / 16384 + 1;
    const uint64_t most = rows < MAX_PARTS ? rows : MAX_PARTS;
    out->parts = (uint32_t)(parts < most ? parts : most);
    return PGY_OK;
}

static bool gather_quantized_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (p->bits != 2 && p->bits != 4 && p->bits != 8) return extent_refuse(e, "number of bits");
    if (p->dtype != PGY_F32 && !half_is((pgy_dtype)p->dtype)) return extent_refuse(e, "type");
    if (p->inputs != q->input_count || p->inputs < 3 || (p->has_zeros && p->inputs <= ZEROS))
        return extent_refuse(e, "number of inputs");
    const uint64_t all = extent_mul3(p->outer, p->length, p->inner),
                   item = p->dtype == PGY_F32 ? 4 : 2;
    const uint64_t group = extent_mul(p->steps, p->lines),
                   results = extent_mul3(p->outer, p->count, p->inner);
    if (!p->inner || !p->width || !p->block || !group || group == EXTENT_TOO_MUCH || !results ||
        all >= INT64_MAX / 16 || all % p->width || (all / p->width) % group ||
        p->scale_width < (p->along_line ? gather_quantized_up(p->width, p->block) : p->width) ||
        p->zero_width < p->scale_width || (p->along_line && group != 1) || p->middle > 128 ||
        p->middle < 0)
        return extent_refuse(e, "shape");
    const uint64_t lines =
        extent_mul3(all / p->width / group, p->lines,
                    p->along_line ? p->steps : gather_quantized_up(p->steps, p->block));
    extent_tensor(e, DATA, extent_round_up(extent_mul(all, p->bits), 8) / 8, 1);
    extent_tensor(e, INDICES, p->count, p->wide ? sizeof(int64_t) : sizeof(int32_t));
    extent_tensor(e, SCALES, extent_mul(lines, p->scale_width), item);
    if (p->has_zeros)
        extent_tensor(e, ZEROS, extent_round_up(extent_mul3(lines, p->zero_width, p->bits), 8) / 8,
                      1);
    extent_tensor(e, p->inputs, results, item);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static int32_t code_at(const params *p, const uint8_t *data, uint64_t i)
{
    const uint32_t per = 8 / p->bits, top = 1u << (p->bits - 1);
    const uint32_t code = data[i / per] >> i % per * p->bits & (2 * top - 1);
    return p->is_signed ? (int32_t)(code ^ top) - (int32_t)top : (int32_t)code;
}

static float scale_at(const params *p, const void *scales, uint64_t i)
{
    if (p->dtype == PGY_F32) return ((const float *)scales)[i];
    const uint16_t h = ((const uint16_t *)scales)[i];
    return p->dtype == PGY_F16 ? f16_to_f32(h) : bf16_to_f32(h);
}

/* Elements that share one scale. */
static void read_codes(float *to, const params *p, const uint8_t *data, uint64_t from, size_t count,
                       float scale, int32_t zero)
{
    size_t i = 0;
    if (p->bits == 4 && !p->is_signed) {
        for (; i < count && (from + i) % 2; i++)
            to[i] = (float)(code_at(p, data, from + i) - zero) * scale;
        for (const uint8_t *b = data + (from + i) / 2; i + 2 <= count; i += 2, b++) {
            to[i] = (float)((*b & 15) - zero) * scale;
            to[i + 1] = (float)((*b >> 4) - zero) * scale;
        }
    }
    for (; i < count; i++) to[i] = (float)(code_at(p, data, from + i) - zero) * scale;
}

static int32_t zero_at(const params *p, const void *zeros, uint64_t line, uint64_t at)
{
    return p->has_zeros ? code_at(p, zeros, line * p->zero_width + at) : p->middle;
}

/* Dequantises `count` elements of one line, from place `at` of it. */
static void read_line(float *to, const params *p, const kernel_run *r, uint64_t line, uint64_t at,
                      size_t count)
{
    const uint8_t *data = r->tensors[DATA];
    const uint64_t first = line * p->width + at;
    if (p->along_line) {
        for (size_t i = 0, n; i < count; i += n) {
            const uint64_t b = (at + i) / p->block, left = (b + 1) * p->block - at - i;
            n = count - i < left ? count - i : (size_t)left;
            read_codes(to + i, p, data, first + i, n,
                       scale_at(p, r->tensors[SCALES], line * p->scale_width + b),
                       zero_at(p, p->has_zeros ? r->tensors[ZEROS] : NULL, line, b));
        }
        return;
    }
    const uint64_t step = line / p->lines % p->steps, group = line / p->lines / p->steps;
    const uint64_t blocks = gather_quantized_up(p->steps, p->block);
    const uint64_t own = (group * blocks + step / p->block) * p->lines + line % p->lines;
    for (size_t i = 0; i < count; i++)
        read_codes(to + i, p, data, first + i, 1,
                   scale_at(p, r->tensors[SCALES], own * p->scale_width + at + i),
                   zero_at(p, p->has_zeros ? r->tensors[ZEROS] : NULL, own, at + i));
}

static void store(const params *p, void *y, uint64_t at, const float *x, size_t count)
{
    if (p->dtype == PGY_F32)
        memcpy((float *)y + at, x, count * sizeof *x);
    else
        half_loops_of((pgy_dtype)p->dtype, cpu_features())->narrow((uint16_t *)y + at, x, count);
}

/* The index counts from the end if it is negative; out of range, the row is zeros. */
static void gather_quantized_row(const params *p, const kernel_run *r, uint64_t row)
{
    const void *indices = r->tensors[INDICES];
    const uint64_t i = row % p->count;
    const int64_t given = p->wide ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
    const uint64_t index = (uint64_t)given + (given < 0 ? p->length : 0);
    const uint64_t first = (row / p->count * p->length + index) * p->inner;
    float room[RUN];
    for (uint64_t j = 0, n; j < p->inner; j += n) {
        const uint64_t at = index < p->length ? (first + j) % p->width : 0;
        n = p->inner - j < RUN ? p->inner - j : RUN;
        if (index >= p->length) {
            memset(room, 0, sizeof room);
        } else {
            if (n > p->width - at) n = p->width - at;
            read_line(room, p, r, (first + j) / p->width, at, n);
        }
        store(p, r->tensors[p->inputs], row * p->inner + j, room, n);
    }
}

static void gather_quantized_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, p->outer * p->count, r->part, r->parts);
    for (size_t row = from; row < to && !cancel_requested(); row++) gather_quantized_row(p, r, row);
}

const kernel KERNELS_gather_quantized[] = {
    {.name = "gather_quantized",
     .version = 1,
     .ops = "com.microsoft:GatherBlockQuantized",
     .flags = KERNEL_TAKES_HALF,
     .accept = gather_quantized_accept,
     .prepare = gather_quantized_prepare,
     .run = gather_quantized_run,
     .extent = gather_quantized_extent},
    {0},
};

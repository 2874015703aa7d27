/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of bytes on CUDA devices, exact in int32: products of windows and packed weights
 * (packed.h, boxed.h) of images with their channels last, of few channels from lines in shared
 * memory (byte_lines.h), or of linear ones, whose bytes are gathered one by one; all others, such
 * as depthwise ones, by byte_conv.cu. The problems are those of the host's kernels, and so are the
 * results, bit for bit. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/conv.h"
#include "kernels/cuda/boxed.h"
#include "kernels/cuda/byte_border.h"
#include "kernels/cuda/byte_conv.h"
#include "kernels/int_problem.h"

/* FEW: output channels of a group, below which most of a tile would be empty. */
enum { STEP = 128, FEW = 8 };

/* Inputs of pgy:QLinearConv with a sum. */
enum { Y_SCALE = 6, Y_ZERO, R = INT_CONV_INPUTS, R_SCALE, R_ZERO, SUM_SCALE, SUM_ZERO, SUM_INPUTS };

typedef byte_conv_params params;
typedef byte_conv_way way;

static uint32_t tile_of(const kernel *self);
static way way_of(const kernel *self);

/* ---- The problem ---------------------------------------------------------------------------- */

/* Can windows of two axes be the rows of a product, in numbers of 32 bits? */
static bool is_product(const int_conv *c)
{
    const uint64_t image = extent_mul3(c->groups, c->in, int_conv_in_plane(c));
    return c->size[0] == 1 && c->out_size[0] == 1 && c->kernel[0] == 1 && !c->pad[0] &&
           !c->w_has_zero && image <= INT32_MAX && byte_conv_k(c) <= INT32_MAX / 2 &&
           byte_conv_m(c) <= INT32_MAX && int_conv_out_plane(c) <= INT32_MAX &&
           byte_conv_channels(c) <= INT32_MAX && c->pad[1] >= 0 && c->pad[2] >= 0 &&
           (!byte_conv_is_odd(c) ||
            (byte_conv_k(c) <= PACKED_GATHERED && c->size[1] < INT16_MAX / 2));
}

/* Does the copy engine bring 64 channels at a time, because a pixel has no multiple of 128? */
static bool is_slim(const int_conv *c)
{
    return c->in % STEP != 0;
}

static cuda_image image_of(const params *p, const void *data)
{
    const int_conv *c = &p->c;
    cuda_image m = {.address = (uint64_t)(uintptr_t)data,
                    .batch = c->batch,
                    .height = (uint64_t)c->size[1],
                    .width = (uint64_t)c->size[2],
                    .channels = c->in,
                    .box_pixels = PACKED_TILE[p->cut.tile].m,
                    .box_channels = is_slim(c) ? STEP / 2 : STEP,
                    .type = CUDA_BYTE};
    for (int i = 0; i < 2; i++) {
        m.first[i] = (int32_t)-c->pad[i + 1];
        m.last[i] = (int32_t)((c->out_size[i + 1] - 1) * c->stride[i + 1] - c->pad[i + 1]);
        m.stride[i] = (uint32_t)c->stride[i + 1];
    }
    return m;
}

/* Do all taps of all windows lie inside the image? */
/* Is each row of the product a pixel of the image, in their order? */
static bool is_matrix(const int_conv *c)
{
    return c->groups == 1 && !byte_conv_is_odd(c) && c->taps == 1 && c->stride[1] == 1 &&
           c->stride[2] == 1 && !c->pad[1] && !c->pad[2] && c->size[1] == c->out_size[1] &&
           c->size[2] == c->out_size[2];
}

/* Does each tap have whole steps of k, and can the copy engine count all places? */
static bool can_bring(const params *p)
{
    const int_conv *c = &p->c;
    const int64_t most = 1 << 20; /* keeps the products below in their types */
    uint32_t farthest[2];
    if (is_matrix(c)) return boxed_has_sizes(byte_conv_m(c), c->out);
    if (c->groups != 1 || !c->last || c->in % (STEP / 2) || c->in > INT32_MAX ||
        !boxed_has_sizes(byte_conv_m(c), c->out))
        return false;
    for (int i = 1; i < INT_CONV_AXES; i++) {
        if (c->size[i] > most || c->out_size[i] > most || c->pad[i] > 128 || c->kernel[i] > 256)
            return false;
        farthest[i - 1] = (uint32_t)((c->kernel[i] - 1) * c->dilation[i]);
    }
    const cuda_image m = image_of(p, NULL);
    if (byte_conv_is_mapped(p, BYTE_CONV_BOXED) && (byte_border_kinds(c, 1) > BYTE_BORDER_KINDS ||
                                                    byte_border_kinds(c, 2) > BYTE_BORDER_KINDS))
        return false;
    return cuda_image_fits(&m, farthest);
}

static bool describe_sum(params *p, const kernel_problem *u)
{
    if (u->input_count <= INT_CONV_INPUTS) return true;
    if (u->input_count != SUM_INPUTS || p->c.kind != INT_CONV_TO_BYTES || !p->c.last ||
        p->c.out % PACKED_VECTOR || u->inputs[R].dtype != u->outputs[0].dtype ||
        kernel_count(&u->inputs[R]) != kernel_count(&u->outputs[0]) ||
        !byte_sum_describe(&p->sum, u, Y_SCALE, R))
        return false;
    p->adds = 1;
    p->c.inputs = SUM_INPUTS;
    return true;
}

static bool byte_conv_describe(params *p, const kernel_problem *u, const kernel *self)
{
    kernel_problem conv = *u;
    memset(p, 0, sizeof *p);
    if (conv.input_count > INT_CONV_INPUTS) conv.input_count = INT_CONV_INPUTS;
    if (!int_conv_describe(&p->c, &conv) || !describe_sum(p, u)) return false;
    const int_conv *c = &p->c;
    const int_conv_places *at = &INT_CONV_PLACES[c->kind];
    p->w_signed = u->inputs[at->w].dtype == PGY_I8;
    p->cut = (packed_cut){.splits = 1};
    if (way_of(self) == BYTE_CONV_EACH) return !p->adds;
    if (!is_product(c) || c->out < FEW || !int_problem_is_fixed(u, at->x_zero, 1)) return false;
    p->x_zero = int_problem_has(u, at->x_zero) ? (uint8_t)int_problem_int(u, at->x_zero, 0) : 0;
    p->w_signed = 1; /* as they are packed */
    p->c.x_zero_input = 0;
    p->cut.tile = tile_of(self);
    p->cut = packed_cut_of(tile_of(self), byte_conv_m(c), c->out,
                           byte_columns_k(byte_conv_packed_k(p)), c->groups);
    return way_of(self) == BYTE_CONV_PACKED || can_bring(p);
}

static bool byte_conv_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!byte_conv_describe(&p, u, u->self)) return false;
    const int_conv *c = &p.c;
    const uint64_t k = byte_columns_k(byte_conv_packed_k(&p));
    cuda_set_linear(u);
    const double moved = cuda_cost(cuda_bytes(u), 0, true);
    double computed = 2500;
    if (way_of(u->self) == BYTE_CONV_BOXED) {
        *cost_ns = boxed_cost(u, &p.cut, byte_conv_m(c), c->out, k);
        return boxed_is_useful(&p.cut);
    }
    if (way_of(u->self) == BYTE_CONV_PACKED)
        computed += packed_cost(&p.cut, byte_conv_m(c), c->out, k, c->groups);
    else
        computed += (double)kernel_count(&u->outputs[0]) * (double)byte_conv_k(c) / 500;
    *cost_ns = moved > computed ? moved : computed;
    return true;
}

static pgy_status byte_conv_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    const way w = way_of(u->self);
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)byte_conv_describe(p, u, u->self); /* cannot fail after `accept` */
    const uint64_t bytes = byte_conv_packed_bytes(p, w);
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .packed = mem_alloc_aligned(64, bytes),
                         .packed_bytes = bytes,
                         .packed_inputs = byte_conv_packed_inputs(&p->c, w),
                         .phases = 1,
                         .parts = 1,
                         .in_place = -1};
    if (!out->packed) {
        kernel_plan_deinit(out);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    memset(out->packed, 0, bytes);
    byte_conv_pack(out->packed, p, u, w);
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool byte_conv_extent(kernel_extent *e, const kernel_claim *q)
{
    const way w = way_of(q->self);
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_enum(e, p->c.kind, INT_CONV_TO_FLOAT + 1, "kind")) return false;
    const int_conv *c = &p->c;
    const size_t weights = INT_CONV_PLACES[c->kind].w;
    if (c->inputs != q->input_count || c->x_zero_input >= c->inputs || weights >= c->inputs ||
        c->bias_input >= c->inputs || c->sum_input >= c->inputs)
        return extent_refuse(e, "numbers of operands");
    if (!int_conv_has_valid_sizes(c)) return extent_refuse(e, "shape");
    if (p->adds > 1 || (p->adds && !byte_sum_is_valid(&p->sum))) return extent_refuse(e, "sum");
    if (p->adds && (c->inputs != SUM_INPUTS || w == BYTE_CONV_EACH ||
                    c->kind != INT_CONV_TO_BYTES || !c->last || c->out % PACKED_VECTOR))
        return extent_refuse(e, "sum");
    if (!int_finish_is_valid(&c->finish)) return extent_refuse(e, "zero points");
    if (w == BYTE_CONV_EACH && (p->cut.tile || p->cut.splits != 1))
        return extent_refuse(e, "parts");
    if (w != BYTE_CONV_EACH && (!is_product(c) || !packed_cut_extent(e, &p->cut, tile_of(q->self))))
        return extent_refuse(e, "product");
    if (w == BYTE_CONV_BOXED && !can_bring(p)) return extent_refuse(e, "sizes");
    int_conv_extent_tensors(e, c);
    if (p->adds) extent_tensor(e, R, extent_mul(byte_conv_m(c), byte_conv_channels(c)), 1);
    if (w == BYTE_CONV_EACH)
        extent_tensor(e, (uint32_t)weights, byte_conv_channels(c), byte_conv_k(c));
    e->packed = byte_conv_packed_bytes(p, w);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static packed_kind kind_of(const params *p, way w)
{
    static const packed_finish FINISH[] = {
        [INT_CONV_TO_BYTES] = PACKED_TO_BYTES,
        [INT_CONV_TO_INT32] = PACKED_TO_INT32,
        [INT_CONV_TO_FLOAT] = PACKED_CONV_TO_FLOAT,
    };
    static const pgy_dtype Y[] = {PGY_U8, PGY_I32, PGY_F32};
    const int_conv *c = &p->c;
    const byte_lines l =
        w == BYTE_CONV_PACKED && byte_conv_is_odd(c) ? byte_conv_lines(p) : (byte_lines){0};
    const uint64_t steps = extent_round_up(byte_conv_packed_k(p), STEP);
    /* The weights of all steps stay in shared memory, beside the lines of two tiles. */
    const packed_tile *t = &PACKED_TILE[p->cut.tile];
    const bool stays = l.taps && byte_conv_is_direct(p, w) && c->out <= t->n &&
                       steps <= (uint64_t)t->stages * STEP;
    packed_kind k = {.types = {.x = c->x_signed ? PGY_I8 : PGY_U8,
                               .bias = PGY_F32,
                               .residual = p->adds ? PGY_U8 : PGY_F32,
                               .y = Y[c->kind],
                               .w = p->w_signed ? PGY_I8 : PGY_U8},
                     .cut = p->cut,
                     .finish = FINISH[c->kind],
                     .activation = c->kind == INT_CONV_TO_FLOAT && c->relu ? CONV_RELU : 0,
                     .taps = l.taps,
                     .width = l.taps ? (uint32_t)c->kernel[2] : 0,
                     .height = l.taps ? (uint32_t)c->kernel[1] : 0,
                     /* a place for each k */
                     .more =
                         byte_conv_is_gathered(p) ? (uint32_t)steps * 8 : l.bytes * (stays ? 2 : 1),
                     .plain = is_matrix(c),
                     .gathered = byte_conv_is_gathered(p),
                     .planes = !c->last,
                     .mapped = byte_conv_is_mapped(p, w),
                     .slim = w == BYTE_CONV_BOXED && !is_matrix(c) && is_slim(c),
                     .vector = c->last && c->out % PACKED_VECTOR == 0,
                     .biased = c->bias_input != 0,
                     .added = c->sum_input || p->adds,
                     .stays = stays,
                     .direct = byte_conv_is_direct(p, w)};
    byte_columns_limit(&k, &c->finish);
    return k;
}

static pgy_status load_direct(void **out, const packed_kind *k, device *d, pgy_error *err)
{
    static const cuda_source SOURCE = {
        "byte_conv", CUDA_SOURCE_byte_conv, {"run"}, {CUDA_SOURCE_bytes}};
    str defines = {0};
    cuda_define_type(&defines, "X", k->types.x);
    cuda_define_type(&defines, "WEIGHT", k->types.w);
    cuda_define_type(&defines, "Y", k->types.y);
    cuda_define_int(&defines, "FINISH", k->finish);
    cuda_define_int(&defines, "BIASED", k->biased);
    cuda_define_int(&defines, "ADDED", k->added);
    cuda_define_int(&defines, "ACTIVATION", k->activation);
    cuda_define_int(&defines, "LAST", !k->planes);
    return cuda_load(out, d, &SOURCE, &defines, err);
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    const packed_kind kind = kind_of(plan->params, way_of(self));
    switch (way_of(self)) {
    case BYTE_CONV_EACH: return load_direct(out, &kind, d, err);
    case BYTE_CONV_PACKED: return packed_load(out, &kind, d, err);
    default: return boxed_load(out, &kind, d, err);
    }
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static packed_call call_of(const kernel_run *r, way w)
{
    const params *p = r->params;
    const int_conv *c = &p->c;
    const byte_columns at = byte_conv_columns(p, w);
    const int32_t channels = (int32_t)(c->groups * c->in), width = (int32_t)c->size[2];
    packed_call call = {.x = address(r->tensors[0]),
                        .w = address(r->packed),
                        .bias = c->bias_input ? address(r->tensors[c->bias_input]) : 0,
                        .residual = p->adds        ? address(r->tensors[R])
                                    : c->sum_input ? address(r->tensors[c->sum_input])
                                                   : 0,
                        .y = address(r->tensors[c->inputs]),
                        .m = byte_conv_m(c),
                        .n = c->out,
                        .k = byte_conv_packed_k(p),
                        .k_pitch = byte_conv_pitch(p),
                        .w_rows = byte_conv_rows(p, w),
                        .x_row = (uint64_t)channels,
                        .y_row = byte_conv_channels(c),
                        .image = c->groups * c->in * int_conv_in_plane(c),
                        .groups = (uint32_t)c->groups,
                        .channels = (uint32_t)c->in,
                        .pixels = (uint32_t)int_conv_out_plane(c),
                        .out_width = (uint32_t)c->out_size[2],
                        .window = (uint32_t)c->kernel[2],
                        .in_height = (int32_t)c->size[1],
                        .in_width = width,
                        .stride_y = (int32_t)c->stride[1],
                        .stride_x = (int32_t)c->stride[2],
                        .dilation_y = (int32_t)c->dilation[1],
                        .dilation_x = (int32_t)c->dilation[2],
                        .pad_y = (int32_t)c->pad[1],
                        .pad_x = (int32_t)c->pad[2],
                        .step_c = c->last ? 1 : (int32_t)c->size[1] * width,
                        .step_x = c->last ? channels : 1,
                        .alpha = 1};
    const byte_lines l = byte_conv_lines(p);
    call.lines = l.lines;
    call.line = l.line;
    call.step_y = width * call.step_x;
    byte_columns_place(&call, &at, r->packed, &c->finish);
    if (p->adds) call.sum[0] = byte_binary_call_of(&p->sum);
    if (byte_conv_is_mapped(p, w)) {
        const byte_border b = byte_border_of(c, at.bytes);
        call.mapped = call.w + b.table;
        call.row_kinds = call.w + b.at[0];
        call.column_kinds = call.w + b.at[1];
        call.kinds = b.kinds[1];
        call.kind_pitch = (uint32_t)b.pitch;
    }
    return call;
}

/* Arguments of byte_conv.cu: the same struct as there. */
typedef struct direct_call {
    uint64_t x, w, x_zero, zeros, offsets, scales, factors, bias, residual, y;
    uint64_t batch, groups, in, out;
    int64_t size[INT_CONV_AXES], out_size[INT_CONV_AXES], kernel[INT_CONV_AXES],
        stride[INT_CONV_AXES], dilation[INT_CONV_AXES], pad[INT_CONV_AXES];
    int32_t zero, low, high, unused;
} direct_call;

static pgy_status enqueue_direct(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const int_conv *c = &((const params *)r->params)->c;
    const packed_call p = call_of(r, BYTE_CONV_EACH);
    direct_call d = {.x = p.x,
                     .w = address(r->tensors[INT_CONV_PLACES[c->kind].w]),
                     .x_zero = c->x_zero_input ? address(r->tensors[c->x_zero_input]) : 0,
                     .zeros =
                         address(r->packed) + byte_conv_columns(r->params, BYTE_CONV_EACH).zeros,
                     .offsets = p.offsets,
                     .scales = p.scales,
                     .factors = p.factors,
                     .bias = p.bias,
                     .residual = p.residual,
                     .y = p.y,
                     .batch = c->batch,
                     .groups = c->groups,
                     .in = c->in,
                     .out = c->out,
                     .zero = p.zero,
                     .low = p.low,
                     .high = p.high};
    memcpy(d.size, c->size, sizeof d.size);
    memcpy(d.out_size, c->out_size, sizeof d.out_size);
    memcpy(d.kernel, c->kernel, sizeof d.kernel);
    memcpy(d.stride, c->stride, sizeof d.stride);
    memcpy(d.dilation, c->dilation, sizeof d.dilation);
    memcpy(d.pad, c->pad, sizeof d.pad);
    const cuda_loaded *l = r->loaded;
    return cuda_launch_for(stream, l->functions[0],
                           c->batch * byte_conv_channels(c) * int_conv_out_plane(c), CUDA_BLOCK, &d,
                           err);
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    if (way_of(r->self) == BYTE_CONV_EACH) return enqueue_direct(r, stream, err);
    boxed_call c = {.own = call_of(r, way_of(r->self))};
    if (way_of(r->self) == BYTE_CONV_PACKED)
        return packed_launch(stream, r->loaded, &p->cut, &c.own, err);
    if (is_matrix(&p->c)) return boxed_launch_matrix(r->loaded, &p->cut, &c, PGY_I8, stream, err);
    const cuda_image m = image_of(p, r->tensors[0]);
    const pgy_status st =
        boxed_uses_maps(r->loaded) ? cuda_tensor_map_encode_image(&c.x, stream, &m, err) : PGY_OK;
    return st ? st : boxed_launch(r->loaded, &p->cut, &c, PGY_I8, stream, err);
}

#define OPS "QLinearConv ConvInteger com.microsoft:QLinearConv pgy:QLinearConv pgy:QuantizedConv"
#define ROW(name_, unload_)                                                                   \
    {                                                                                         \
        .name = "conv_bytes_" name_, .version = 1, .ops = OPS, .device = "cuda",              \
        .accept = byte_conv_accept, .prepare = byte_conv_prepare, .extent = byte_conv_extent, \
        .load = load, .unload = unload_, .enqueue = enqueue                                   \
    }
const kernel KERNELS_cuda_byte_conv[] = {
    ROW("direct", cuda_unload),
    ROW("128x128", packed_unload),
    ROW("128x64", packed_unload),
    ROW("64x64", packed_unload),
    ROW("64x128", packed_unload),
    ROW("thin_64x64", packed_unload),
    ROW("short_128x64", packed_unload),
    ROW("boxed_128x128", boxed_unload),
    ROW("boxed_128x64", boxed_unload),
    ROW("boxed_64x64", boxed_unload),
    ROW("boxed_64x128", boxed_unload),
    ROW("boxed_deep_64x64", boxed_unload),
    ROW("boxed_thin_64x64", boxed_unload),
    ROW("boxed_short_128x64", boxed_unload),
    {0},
};

/* Of each row. */
static const struct {
    way way;
    uint32_t tile;
} TACTICS[] = {{BYTE_CONV_EACH, 0},   {BYTE_CONV_PACKED, 0}, {BYTE_CONV_PACKED, 1},
               {BYTE_CONV_PACKED, 2}, {BYTE_CONV_PACKED, 4}, {BYTE_CONV_PACKED, 8},
               {BYTE_CONV_PACKED, 3}, {BYTE_CONV_BOXED, 0},  {BYTE_CONV_BOXED, 1},
               {BYTE_CONV_BOXED, 2},  {BYTE_CONV_BOXED, 4},  {BYTE_CONV_BOXED, 6},
               {BYTE_CONV_BOXED, 8},  {BYTE_CONV_BOXED, 3}};

static uint32_t tile_of(const kernel *self)
{
    return TACTICS[self - KERNELS_cuda_byte_conv].tile;
}

static way way_of(const kernel *self)
{
    return TACTICS[self - KERNELS_cuda_byte_conv].way;
}

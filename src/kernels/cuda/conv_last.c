/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of 16-bit floats in channels last on CUDA devices: products of the windows and
 * packed weights (packed.h). A row for each tile. Few channels are gathered one by one, also from a
 * linear image. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/cuda/conv_last.h"

typedef conv_last_params params;

/* ---- The problem ---------------------------------------------------------------------------- */

static uint64_t channels_of(const conv_shape *s) /* of a group */
{
    return s->in_channels / s->groups;
}

static uint64_t product_m(const conv_shape *s)
{
    return extent_mul3(s->batch, (uint64_t)s->out[0], (uint64_t)s->out[1]);
}

static uint64_t product_n(const conv_shape *s)
{
    return s->out_channels / s->groups;
}

static uint64_t product_k(const conv_shape *s)
{
    return channels_of(s) * (uint64_t)(s->kernel[0] * s->kernel[1]);
}

/* The k of the product as packed.cu counts them. */
static uint64_t packed_k(const params *p)
{
    const conv_last_lines l = conv_last_lines_of(p);
    return l.taps ? l.k : product_k(&p->s);
}

static bool is_gathered(const params *p)
{
    return !conv_last_is_patched(p) && !conv_last_lines_of(p).taps &&
           (p->linear || channels_of(&p->s) % PACKED_VECTOR != 0);
}

static bool has_types(const kernel_problem *u)
{
    const pgy_dtype type = u->inputs[0].dtype;
    if (!cuda_is_half(type) || u->inputs[1].dtype != type) return false;
    for (size_t i = 2; i < u->input_count; i++)
        if (u->inputs[i].dtype && !cuda_is_float(u->inputs[i].dtype)) return false;
    return cuda_is_float(u->outputs[0].dtype);
}

/* Sizes that the kernel counts in 32 bits. */
static bool has_sizes(const conv_shape *s)
{
    return conv_image_elements(s) <= INT32_MAX && product_k(s) <= INT32_MAX / 2 &&
           product_m(s) <= INT32_MAX && (uint64_t)s->out[0] * (uint64_t)s->out[1] <= INT32_MAX;
}

bool conv_last_describe(params *p, const kernel_problem *u, uint32_t tile)
{
    kernel_problem wide;
    cuda_room room;
    *p = (params){.bias_type = PGY_F32, .sum_type = PGY_F32};
    if (u->input_count < 2 || u->output_count != 1 || !has_types(u)) return false;
    cuda_widen(&wide, room, u);
    if (!conv_describe(&p->s, &wide) || !has_sizes(&p->s)) return false;
    p->type = u->inputs[0].dtype;
    p->out_type = u->outputs[0].dtype;
    if (p->s.has_bias) p->bias_type = u->inputs[2].dtype;
    if (p->s.has_sum) p->sum_type = u->inputs[3].dtype;
    p->linear = u->inputs[0].layout != KERNEL_CHANNELS_LAST;
    p->cut.tile = tile;
    p->cut = packed_cut_of(tile, product_m(&p->s), product_n(&p->s), packed_k(p), p->s.groups);
    return channels_of(&p->s) > 1 || p->s.groups == 1; /* else cuda_depthwise_last */
}

static uint32_t tile_of(const kernel *self);

/* Gathering keeps a table of all elements of a window, with 16-bit distances. */
static bool can_gather(const params *p)
{
    const conv_shape *s = &p->s;
    return !is_gathered(p) || (product_k(s) <= PACKED_GATHERED && s->in[0] < INT16_MAX / 2);
}

static bool conv_last_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    const kernel_layout offered = u->inputs[0].layout;
    conv_set_layouts(u, KERNEL_CHANNELS_LAST, KERNEL_CHANNELS_LAST);
    if (!conv_last_describe(&p, u, tile_of(u->self))) return false;
    if (offered != KERNEL_CHANNELS_LAST && is_gathered(&p)) {
        u->inputs[0].layout = KERNEL_LINEAR;
        (void)conv_last_describe(&p, u, tile_of(u->self));
    }
    if (!can_gather(&p)) return false;
    const conv_shape *s = &p.s;
    const double moved = cuda_cost(cuda_bytes(u), 0, true),
                 computed = 2500 + packed_cost(&p.cut, product_m(s), product_n(s), packed_k(&p),
                                               s->groups);
    *cost_ns = moved > computed ? moved : computed;
    return true;
}

/* From [n][channel][tap] to [n][tap][channel], with zeros up to a multiple of 8. Rows of patches
 * are read as they lie in the image. */
static void pack_weights(char *to, const char *from, const params *p, uint32_t item)
{
    const conv_shape *s = &p->s;
    const uint64_t channels = channels_of(s), taps = product_k(s) / channels;
    const uint64_t pitch = packed_pitch(product_k(s));
    if (conv_last_lines_of(p).taps) {
        conv_last_pack_rows(to, from, p, item);
        return;
    }
    if (conv_last_is_patched(p)) {
        memcpy(to, from, s->out_channels * pitch * item);
        return;
    }
    for (uint64_t n = 0; n < s->out_channels; n++)
        for (uint64_t c = 0; c < channels; c++)
            for (uint64_t t = 0; t < taps; t++)
                memcpy(to + (n * pitch + t * channels + c) * item,
                       from + ((n * channels + c) * taps + t) * item, item);
}

pgy_status conv_last_create(kernel_plan *out, const kernel_problem *u, uint32_t tile,
                            pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)conv_last_describe(p, u, tile); /* cannot fail after `accept` */
    const uint32_t item = cuda_item((pgy_dtype)p->type);
    const uint64_t bytes = p->s.out_channels * packed_pitch(packed_k(p)) * item;
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
    memset(out->packed, 0, bytes);
    pack_weights(out->packed, u->inputs[1].data, p, item);
    return PGY_OK;
}

static pgy_status conv_last_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    return conv_last_create(out, u, tile_of(u->self), err);
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool has_valid_types(const params *p)
{
    const uint32_t types[] = {p->bias_type, p->sum_type, p->out_type};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!cuda_is_float((pgy_dtype)types[i])) return false;
    return cuda_is_half((pgy_dtype)p->type);
}

bool conv_last_reach(kernel_extent *e, const kernel_claim *q, uint32_t tile)
{
    const params *p = extent_params(e, q, sizeof *p);
    const conv_shape *s = p ? &p->s : NULL;
    if (!p || !conv_extent(e, q, s)) return false;
    if (!has_valid_types(p) || p->linear > 1) return extent_refuse(e, "types");
    if (s->inputs < (s->has_bias ? 3 : 2)) return extent_refuse(e, "number of inputs");
    if (!packed_cut_extent(e, &p->cut, tile)) return false;
    if (!has_sizes(s) || !can_gather(p)) return extent_refuse(e, "sizes");
    const uint64_t out = extent_mul(product_m(s), s->out_channels);
    const uint32_t item = cuda_item((pgy_dtype)p->type);
    extent_tensor(e, 0, extent_mul(s->batch, conv_image_elements(s)), item);
    e->packed = extent_mul3(s->out_channels, packed_pitch(packed_k(p)), item);
    if (s->has_bias) extent_tensor(e, 2, s->out_channels, cuda_item((pgy_dtype)p->bias_type));
    if (s->has_sum) extent_tensor(e, 3, out, cuda_item((pgy_dtype)p->sum_type));
    extent_tensor(e, s->inputs, out, cuda_item((pgy_dtype)p->out_type));
    return true;
}

static bool conv_last_extent(kernel_extent *e, const kernel_claim *q)
{
    return conv_last_reach(e, q, tile_of(q->self));
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Is each row of the product a pixel of the image, in their order? */
static bool is_plain(const params *p)
{
    const conv_shape *s = &p->s;
    return !is_gathered(p) && !conv_last_is_patched(p) && !conv_last_lines_of(p).taps &&
           s->groups == 1 && s->kernel[0] == 1 && s->kernel[1] == 1 && s->stride[0] == 1 &&
           s->stride[1] == 1 && !s->pad[0] && !s->pad[1] && s->in[0] == s->out[0] &&
           s->in[1] == s->out[1];
}

/* Bytes of shared memory for a place of 8 bytes for each k that is gathered, or for the lines. */
static uint32_t more_of(const params *p)
{
    const uint64_t step = 64, k = extent_round_up(packed_k(p), step);
    const conv_last_lines l = conv_last_lines_of(p);
    if (l.taps) return l.bytes;
    return is_gathered(p) ? (uint32_t)k * 8 : 0;
}

packed_kind conv_last_kind(const params *p)
{
    const conv_last_lines l = conv_last_lines_of(p);
    return (packed_kind){.types = {(pgy_dtype)p->type, (pgy_dtype)p->bias_type,
                                   (pgy_dtype)p->sum_type, (pgy_dtype)p->out_type},
                         .cut = p->cut,
                         .activation = p->s.activation,
                         .taps = l.taps,
                         .lead = l.lead,
                         .width = l.taps ? (uint32_t)p->s.kernel[1] : 0,
                         .height = l.taps ? (uint32_t)p->s.kernel[0] : 0,
                         .more = more_of(p),
                         .plain = is_plain(p),
                         .patched = conv_last_is_patched(p),
                         .gathered = is_gathered(p),
                         .vector = product_n(&p->s) % PACKED_VECTOR == 0,
                         .biased = p->s.has_bias != 0,
                         .added = p->s.has_sum != 0};
}

static pgy_status load(void **out, const kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err)
{
    const packed_kind kind = conv_last_kind(plan->params);
    (void)self;
    return packed_load(out, &kind, d, err);
}

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static void place_image(packed_call *c, const params *p)
{
    const conv_shape *s = &p->s;
    const int32_t channels = (int32_t)s->in_channels, width = (int32_t)s->in[1];
    c->step_c = p->linear ? (int32_t)s->in[0] * width : 1;
    c->step_x = p->linear ? 1 : channels;
    c->step_y = width * c->step_x;
}

/* A row of a window takes the place of channels, the rows those of columns, the channels those of
 * rows; nothing is outside of the image. Strides are in elements. */
static void place_patches(packed_call *c, const conv_shape *s)
{
    const int32_t width = (int32_t)s->in[1];
    if (s->out[0] > 1) c->stride_y *= width; /* else it is not used, and may be large */
    c->channels = (uint32_t)s->kernel[1];
    c->window = (uint32_t)s->kernel[0];
    c->step_x = width;
    c->step_y = (int32_t)s->in[0] * width;
    c->in_height = c->in_width = INT32_MAX;
}

packed_call conv_last_call(const kernel_run *r)
{
    const params *p = r->params;
    const conv_shape *s = &p->s;
    const conv_last_lines l = conv_last_lines_of(p);
    packed_call c = {.x = address(r->tensors[0]),
                     .w = address(r->packed),
                     .bias = s->has_bias ? address(r->tensors[2]) : 0,
                     .residual = s->has_sum ? address(r->tensors[3]) : 0,
                     .y = address(r->tensors[s->inputs]),
                     .m = product_m(s),
                     .n = product_n(s),
                     .k = packed_k(p),
                     .k_pitch = packed_pitch(packed_k(p)),
                     .x_row = s->in_channels,
                     .y_row = s->out_channels,
                     .image = conv_image_elements(s),
                     .groups = (uint32_t)s->groups,
                     .channels = (uint32_t)channels_of(s),
                     .pixels = (uint32_t)(s->out[0] * s->out[1]),
                     .out_width = (uint32_t)s->out[1],
                     .window = (uint32_t)s->kernel[1],
                     .in_height = (int32_t)s->in[0],
                     .in_width = (int32_t)s->in[1],
                     .stride_y = (int32_t)s->stride[0],
                     .stride_x = (int32_t)s->stride[1],
                     .dilation_y = (int32_t)s->dilation[0],
                     .dilation_x = (int32_t)s->dilation[1],
                     .pad_y = (int32_t)s->pad[0],
                     .pad_x = (int32_t)s->pad[1],
                     .lines = l.lines,
                     .line = l.line,
                     .alpha = 1,
                     .first = s->parameter[0],
                     .second = s->parameter[1]};
    if (conv_last_is_patched(p))
        place_patches(&c, s);
    else
        place_image(&c, p);
    return c;
}

static pgy_status enqueue(const kernel_run *r, device_stream *stream, pgy_error *err)
{
    const params *p = r->params;
    packed_call c = conv_last_call(r);
    return packed_launch(stream, r->loaded, &p->cut, &c, err);
}

#define ROW(tile)                                                                             \
    {                                                                                         \
        .name = "conv_last_" tile, .version = 3,                                              \
        .ops = "Conv com.microsoft:FusedConv pgy:FusedConv", .device = "cuda",                \
        .accept = conv_last_accept, .prepare = conv_last_prepare, .extent = conv_last_extent, \
        .load = load, .unload = packed_unload, .enqueue = enqueue                             \
    }
const kernel KERNELS_cuda_conv_last[] = {
    ROW("128x128"), ROW("128x64"),     ROW("64x64"), ROW("short_128x64"),
    ROW("64x128"),  ROW("thin_64x64"), {0},
};

static uint32_t tile_of(const kernel *self)
{
    static const uint32_t TILES[] = {0, 1, 2, 3, 4, 8};
    return TILES[self - KERNELS_cuda_conv_last];
}

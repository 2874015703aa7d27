/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution in float32 between tensors blocked by channels: each channel is its own
 * group. Where the image is wide, pixels at the left and right edge are computed one by one, with
 * only the taps that fall inside the input. Of narrow images rows are copied with their padding, so
 * that whole rows are tiles. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/conv_plan.h"
#include "kernels/extent.h"
#include "kernels/packing.h"

typedef struct params {
    conv_shape s;
    uint32_t level;
    uint64_t block, blocks;
    int64_t from, to; /* output columns whose taps all fall inside the input, or its copy */
    /* Of a copy of padded rows: pixels of a row, and the output rows that it serves; 0: none. */
    int64_t width, band;
} params;

static bool is_depthwise(const conv_shape *s)
{
    return s->groups == s->in_channels && s->groups == s->out_channels && s->groups > 1;
}

static bool conv_depthwise_accept(kernel_problem *u, double *cost_ns)
{
    const cpu_level level = u->self->needs;
    const double flops_per_ns = u->self->rates[0];
    conv_shape s;
    if (!conv_describe(&s, u) || !is_depthwise(&s)) return false;
    const size_t block = conv_tiles_of(level)->block;
    const kernel_layout layout = block == 16 ? KERNEL_BLOCKED_16 : KERNEL_BLOCKED_8;
    conv_set_layouts(u, layout, layout);
    const double padding = (double)(conv_blocks(s.groups, block) * block) / (double)s.groups;
    *cost_ns =
        conv_flop_count(&s) * padding / flops_per_ns +
        (double)(kernel_size_bytes(&u->inputs[0]) + kernel_size_bytes(&u->outputs[0])) * 0.02;
    return true;
}

/* Number of input rows that `rows` output rows read. */
static int64_t rows_read(const conv_shape *s, int64_t rows)
{
    return (rows - 1) * s->stride[0] + (s->kernel[0] - 1) * s->dilation[0] + 1;
}

/* Decides whether rows are copied. In cycles: a pixel at the edge takes a call, and three more for
 * each product than in a tile; a copied pixel takes one and a half. */
static void find_band(params *p)
{
    enum { COPY_BYTES = 64 << 10, MOST_BYTES = 128 << 10, CALL = 25, ROW = 20 };
    const conv_shape *s = &p->s;
    const int64_t edges = s->out[1] - (p->to - p->from), taps = s->kernel[0] * s->kernel[1];
    const int64_t width = (s->out[1] - 1) * s->stride[1] + (s->kernel[1] - 1) * s->dilation[1] + 1;
    const int64_t row_bytes = width * (int64_t)(p->block * sizeof(float));
    if (s->pad[1] > width || row_bytes > MOST_BYTES || rows_read(s, 1) > MOST_BYTES / row_bytes)
        return;
    int64_t band = (COPY_BYTES / row_bytes - rows_read(s, 1)) / s->stride[0] + 1;
    band = band < 1 ? 1 : band < s->out[0] ? band : s->out[0];
    if (2 * edges * (3 * taps + CALL) * band <= 3 * (width + ROW) * rows_read(s, band)) return;
    p->width = width;
    p->band = band;
    p->from = 0;
    p->to = s->out[1];
}

static void find_inside(params *p)
{
    const conv_shape *s = &p->s;
    const int64_t reach = (s->kernel[1] - 1) * s->dilation[1], stride = s->stride[1];
    const int64_t last = s->in[1] - 1 - reach + s->pad[1];
    p->width = p->band = 0;
    p->from = (s->pad[1] + stride - 1) / stride;
    p->to = last < 0 ? 0 : last / stride + 1;
    if (p->to > s->out[1]) p->to = s->out[1];
    if (p->from > p->to) p->from = p->to = 0;
    find_band(p);
}

static size_t copy_bytes(const params *p)
{
    return p->band ? (size_t)(rows_read(&p->s, p->band) * p->width) * p->block * sizeof(float) : 0;
}

/* Packs the biases of all blocks, then the weights as [block][row][column][lane]. */
static bool conv_depthwise_fill(void *packed, const kernel_problem *u, const void *user)
{
    const params *p = user;
    const float *w = u->inputs[1].data, *bias = p->s.has_bias ? u->inputs[2].data : NULL;
    float *to = packed;
    const conv_shape *s = &p->s;
    const uint64_t taps = (uint64_t)(s->kernel[0] * s->kernel[1]);
    for (uint64_t i = 0; i < p->blocks * p->block; i++) *to++ = bias && i < s->groups ? bias[i] : 0;
    for (uint64_t b = 0; b < p->blocks; b++)
        for (uint64_t tap = 0; tap < taps; tap++)
            for (uint64_t lane = 0; lane < p->block; lane++) {
                const uint64_t channel = b * p->block + lane;
                *to++ = channel < s->groups ? w[channel * taps + tap] : 0;
            }
    return true;
}

static pgy_status conv_depthwise_pack(kernel_plan *out, const params *p, const kernel_problem *u,
                                      pgy_error *err)
{
    const uint64_t taps = (uint64_t)(p->s.kernel[0] * p->s.kernel[1]);
    const kernel_packing how = {.form = "conv_depthwise",
                                .numbers = {p->block, p->s.groups, taps},
                                .inputs = p->s.has_bias ? 6 : 2,
                                .size_bytes = p->blocks * p->block * (taps + 1) * sizeof(float),
                                .fill = conv_depthwise_fill,
                                .user = p};
    out->packed_inputs = how.inputs;
    return kernel_pack(out, u, &how, err);
}

static pgy_status conv_depthwise_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    const cpu_level level = u->self->needs;
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)conv_describe(&p->s, u); /* cannot fail after `accept` */
    p->level = level;
    p->block = conv_tiles_of(level)->block;
    p->blocks = conv_blocks(p->s.groups, p->block);
    find_inside(p);
    const uint64_t rows = p->s.batch * p->blocks * (uint64_t)p->s.out[0];
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = (uint32_t)(rows < 256 ? rows : 256);
    out->scratch_bytes = copy_bytes(p);
    const pgy_status st = conv_depthwise_pack(out, p, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static bool conv_depthwise_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !conv_extent(e, q, &p->s)) return false;
    params own = *p;
    own.block = conv_tiles_of(p->level)->block;
    find_inside(&own);
    if (p->block != own.block || p->blocks != conv_blocks(p->s.groups, p->block) ||
        p->from != own.from || p->to != own.to || p->width != own.width || p->band != own.band)
        return extent_refuse(e, "blocks");
    const conv_shape *s = &p->s;
    const uint64_t block = extent_mul(p->blocks, p->block), all = extent_mul(s->batch, block);
    const uint64_t taps = (uint64_t)(s->kernel[0] * s->kernel[1]);
    conv_extent_tensors(e, s, extent_mul(all, (uint64_t)(s->in[0] * s->in[1])),
                        extent_mul(all, (uint64_t)(s->out[0] * s->out[1])));
    e->packed = extent_mul3(block, taps + 1, sizeof(float));
    e->scratch = copy_bytes(&own);
    return true;
}

/* A stretch of output rows of one plane. */
typedef struct stretch {
    const params *p;
    conv_tile_call call; /* what all its tiles have in common */
    const float *x;      /* the input, or the copy of its rows: column 0 of row `first` */
    int64_t first, width;
    const float *sum; /* output row 0 of the plane in the sum's tensor, or NULL, and in y */
    float *y;
    int64_t tiles, least, larger; /* of a row: `larger` tiles have a pixel more than `least` */
    uint64_t lanes;               /* number of channels in the plane's block */
} stretch;

/* Sets the taps of an output row; returns column 0 of the first input row that they read. */
static const float *conv_depthwise_place(stretch *z, int64_t row)
{
    const conv_shape *s = &z->p->s;
    int64_t first = 0, last = s->kernel[0], in_row = row * s->stride[0] - s->pad[0];
    if (in_row < 0 || in_row + (s->kernel[0] - 1) * s->dilation[0] >= s->in[0])
        conv_row_taps(s, row, &first, &last);
    z->call.rows = (size_t)(last - first);
    z->call.w_first = (size_t)first;
    in_row = first < last ? in_row + first * s->dilation[0] - z->first : 0;
    return z->x + in_row * z->width * (int64_t)z->p->block;
}

/* Computes pixels at an end of a row one by one, with only the taps that fall inside the input. */
static void conv_depthwise_edge(stretch *z, int64_t row, int64_t from, int64_t to)
{
    const params *p = z->p;
    const conv_shape *s = &p->s;
    const int64_t b = (int64_t)p->block, step = s->dilation[1], at = row * s->out[1] * b;
    const float *x = conv_depthwise_place(z, row);
    conv_tile_call c = z->call;
    for (int64_t column = from; column < to; column++) {
        const int64_t start = column * s->stride[1] - s->pad[1];
        const int64_t first = start < 0 ? (-start + step - 1) / step : 0;
        int64_t last = start < s->in[1] ? (s->in[1] - start + step - 1) / step : 0;
        if (last > s->kernel[1]) last = s->kernel[1];
        c.columns = first < last ? (size_t)(last - first) : 0;
        c.x = c.columns ? x + (start + first * step) * b : x;
        c.w = z->call.w + (c.columns ? first * b : 0);
        c.y = z->y + at + column * b;
        c.sum = z->sum ? z->sum + at + column * b : NULL;
        conv_tiles_of(p->level)->deep[1](&c);
    }
}

/* Computes `pixels` of each row from column `column` on. */
static void conv_depthwise_tiles(stretch *z, int64_t row, int64_t count, int64_t column,
                                 int64_t pixels)
{
    const params *p = z->p;
    const conv_shape *s = &p->s;
    const int64_t b = (int64_t)p->block, x = (column * s->stride[1] - s->pad[1]) * b;
    const conv_tile_function run = conv_tiles_of(p->level)->deep[pixels];
    int64_t at = (row * s->out[1] + column) * b;
    for (int64_t end = row + count; row < end && !cancel_requested(); row++, at += s->out[1] * b) {
        z->call.x = conv_depthwise_place(z, row) + x;
        z->call.y = z->y + at;
        z->call.sum = z->sum ? z->sum + at : NULL;
        run(&z->call);
    }
}

/* Computes `count` rows from `row` on. Tiles below each other come first, since they share input.
 */
static void conv_depthwise_rows(stretch *z, int64_t row, int64_t count)
{
    const params *p = z->p;
    const conv_shape *s = &p->s;
    for (int64_t i = 0; p->to - p->from < s->out[1] && i < count; i++) {
        conv_depthwise_edge(z, row + i, 0, p->from);
        conv_depthwise_edge(z, row + i, p->to, s->out[1]);
    }
    for (int64_t i = 0, column = p->from, pixels; i < z->tiles; i++, column += pixels) {
        pixels = z->least + (i < z->larger);
        conv_depthwise_tiles(z, row, count, column, pixels);
    }
    if (conv_must_finish(s, p->block, z->lanes))
        conv_finish(s, z->y + (size_t)(row * s->out[1]) * p->block, (size_t)(count * s->out[1]),
                    p->block, z->lanes);
}

static void conv_depthwise_begin(stretch *z, const params *p, const kernel_run *r, uint64_t plane)
{
    const conv_shape *s = &p->s;
    const uint64_t block = plane % p->blocks, b = p->block;
    const uint64_t taps = (uint64_t)(s->kernel[0] * s->kernel[1]);
    const uint64_t in = (uint64_t)(s->in[0] * s->in[1]) * b,
                   out = (uint64_t)(s->out[0] * s->out[1]) * b;
    const int64_t most = (int64_t)conv_tiles_of(p->level)->deep_pixels, inside = p->to - p->from;
    const float *packed = r->packed;
    *z = (stretch){.p = p,
                   .x = (const float *)r->tensors[0] + plane * in,
                   .width = p->band ? p->width : s->in[1],
                   .sum = s->has_sum ? (const float *)r->tensors[3] + plane * out : NULL,
                   .y = (float *)r->tensors[s->inputs] + plane * out,
                   .tiles = (inside + most - 1) / most,
                   .lanes = s->groups - block * b};
    z->least = z->tiles ? inside / z->tiles : 0;
    z->larger = inside - z->tiles * z->least;
    z->call = (conv_tile_call){.bias = packed + block * b,
                               .w = packed + p->blocks * b + block * taps * b,
                               .pixel = (uint64_t)s->stride[1] * b,
                               .columns = (size_t)s->kernel[1],
                               .row_step = (uint64_t)(s->dilation[0] * z->width) * b,
                               .column_step = (uint64_t)s->dilation[1] * b,
                               .w_row_step = (uint64_t)s->kernel[1] * b,
                               .activation = s->activation,
                               .parameter = {s->parameter[0], s->parameter[1]}};
}

/* ---- Copies of padded rows ------------------------------------------------------------------ */

/* Columns of the input in a row of the copy, behind the left padding. */
static int64_t inner_columns(const params *p)
{
    const int64_t room = p->width - p->s.pad[1];
    return p->s.in[1] < room ? p->s.in[1] : room;
}

/* Clears the padding, which is the same for all rows that are copied. */
static void conv_depthwise_pad(const params *p, float *to)
{
    const int64_t b = (int64_t)p->block, left = p->s.pad[1], inner = inner_columns(p);
    for (int64_t i = rows_read(&p->s, p->band); i > 0; i--, to += p->width * b) {
        memset(to, 0, (size_t)(left * b) * sizeof *to);
        memset(to + (left + inner) * b, 0, (size_t)((p->width - left - inner) * b) * sizeof *to);
    }
}

/* Copies the input rows that `count` output rows from `row` on read. */
static void conv_depthwise_copy(stretch *z, const float *plane, float *to, int64_t row,
                                int64_t count)
{
    const params *p = z->p;
    const conv_shape *s = &p->s;
    const int64_t b = (int64_t)p->block, top = row * s->stride[0] - s->pad[0];
    const int64_t end = top + rows_read(s, count);
    const size_t bytes = (size_t)(inner_columns(p) * b) * sizeof *to;
    to += s->pad[1] * b;
    z->x = to;
    z->first = top > 0 ? top : 0;
    for (int64_t i = z->first; i < end && i < s->in[0]; i++, to += p->width * b)
        memcpy(to, plane + i * s->in[1] * b, bytes);
}

static void conv_depthwise_run(const kernel_run *r)
{
    const params *p = r->params;
    const int64_t height = p->s.out[0], most = p->band ? p->band : 1;
    stretch z;
    size_t from, to;
    kernel_share(&from, &to, p->s.batch * p->blocks * (uint64_t)height, r->part, r->parts);
    if (p->band && !r->resumed) conv_depthwise_pad(p, r->scratch);
    for (uint64_t plane = from / (uint64_t)height; from < to; plane++) {
        const int64_t row = (int64_t)(from - plane * (uint64_t)height), left = (int64_t)(to - from);
        const int64_t end = left < height - row ? row + left : height;
        conv_depthwise_begin(&z, p, r, plane);
        const float *x = z.x;
        for (int64_t i = row, count; i < end && !cancel_requested(); i += count) {
            count = end - i < most ? end - i : most;
            if (p->band) conv_depthwise_copy(&z, x, r->scratch, i, count);
            conv_depthwise_rows(&z, i, count);
        }
        from += (size_t)(end - row);
    }
}

#define ROW(suffix, level, flops_per_ns)                                               \
    {                                                                                  \
        .name = "conv_f32_depthwise_" #suffix, .version = 2,                           \
        .ops = "Conv com.microsoft:FusedConv pgy:FusedConv", .needs = level,           \
        .rates = {flops_per_ns}, .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED, \
        .accept = conv_depthwise_accept, .prepare = conv_depthwise_prepare,            \
        .run = conv_depthwise_run, .extent = conv_depthwise_extent                     \
    }
const kernel KERNELS_conv_depthwise[] = {
    ROW(portable, CPU_PORTABLE, 6),
    ROW(avx2, CPU_AVX2, 60),
    ROW(avx512, CPU_AVX512, 75),
    {0},
};

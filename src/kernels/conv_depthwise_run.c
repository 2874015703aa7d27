/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution between tensors blocked by channels: running a plan. */
#include <string.h>

#include "base/cancel.h"
#include "kernels/conv_depthwise.h"
#include "kernels/squares.h"

/* Sets the taps of an output row; returns column 0 of the first input row that they read. */
static const float *conv_depthwise_place(conv_depthwise_stretch *z, int64_t row)
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
static void conv_depthwise_edge(conv_depthwise_stretch *z, int64_t row, int64_t from, int64_t to)
{
    const conv_depthwise_plan *p = z->p;
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
static void conv_depthwise_tiles(conv_depthwise_stretch *z, int64_t row, int64_t count,
                                 int64_t column, int64_t pixels)
{
    const conv_depthwise_plan *p = z->p;
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

/* Tiles below each other come first, since they share input. */
void conv_depthwise_rows(conv_depthwise_stretch *z, int64_t row, int64_t count)
{
    const conv_depthwise_plan *p = z->p;
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

void conv_depthwise_begin(conv_depthwise_stretch *z, const conv_depthwise_plan *p,
                          const float *packed, uint64_t plane)
{
    const conv_shape *s = &p->s;
    const uint64_t block = plane % p->blocks, b = p->block;
    const uint64_t taps = (uint64_t)(s->kernel[0] * s->kernel[1]);
    const int64_t most = (int64_t)conv_tiles_of(p->level)->deep_pixels, inside = p->to - p->from;
    *z = (conv_depthwise_stretch){.p = p,
                                  .width = p->band ? p->width : s->in[1],
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

int64_t conv_depthwise_inner(const conv_depthwise_plan *p)
{
    const int64_t room = p->width - p->s.pad[1];
    return p->s.in[1] < room ? p->s.in[1] : room;
}

void conv_depthwise_pad(const conv_depthwise_plan *p, float *to)
{
    const int64_t b = (int64_t)p->block, left = p->s.pad[1], inner = conv_depthwise_inner(p);
    for (int64_t i = conv_depthwise_reads(&p->s, p->band); i > 0; i--, to += p->width * b) {
        memset(to, 0, (size_t)(left * b) * sizeof *to);
        memset(to + (left + inner) * b, 0, (size_t)((p->width - left - inner) * b) * sizeof *to);
    }
}

/* Copies the input rows that `count` output rows from `row` on read. */
static void conv_depthwise_copy(conv_depthwise_stretch *z, const float *plane, float *to,
                                int64_t row, int64_t count)
{
    const conv_depthwise_plan *p = z->p;
    const conv_shape *s = &p->s;
    const int64_t b = (int64_t)p->block, top = row * s->stride[0] - s->pad[0];
    const int64_t end = top + conv_depthwise_reads(s, count);
    const size_t bytes = (size_t)(conv_depthwise_inner(p) * b) * sizeof *to;
    to += s->pad[1] * b;
    z->x = to;
    z->first = top > 0 ? top : 0;
    for (int64_t i = z->first; i < end && i < s->in[0]; i++, to += p->width * b)
        memcpy(to, plane + i * s->in[1] * b, bytes);
}

/* Computes output rows [row, end) of a plane. The caller has set sum and y, and cleared the padding
 * of `copy`. */
static void conv_depthwise_bands(conv_depthwise_stretch *z, const float *plane, float *copy,
                                 int64_t row, int64_t end)
{
    const int64_t most = z->p->band ? z->p->band : 1;
    z->x = plane;
    for (int64_t count; row < end && !cancel_requested(); row += count) {
        count = end - row < most ? end - row : most;
        if (z->p->band) conv_depthwise_copy(z, plane, copy, row, count);
        conv_depthwise_rows(z, row, count);
    }
}

void conv_depthwise_run_plan(const kernel_run *r, const conv_depthwise_plan *p)
{
    const int64_t height = p->s.out[0];
    const uint64_t in = (uint64_t)(p->s.in[0] * p->s.in[1]) * p->block;
    const uint64_t out = (uint64_t)(height * p->s.out[1]) * p->block;
    conv_depthwise_stretch z;
    size_t from, to;
    kernel_share(&from, &to, p->s.batch * p->blocks * (uint64_t)height, r->part, r->parts);
    if (p->band && !r->resumed) conv_depthwise_pad(p, r->scratch);
    for (uint64_t plane = from / (uint64_t)height; from < to; plane++) {
        const int64_t row = (int64_t)(from - plane * (uint64_t)height), left = (int64_t)(to - from);
        const int64_t end = left < height - row ? row + left : height;
        conv_depthwise_begin(&z, p, r->packed, plane);
        z.sum = p->s.has_sum ? (const float *)r->tensors[3] + plane * out : NULL;
        z.y = (float *)r->tensors[p->s.inputs] + plane * out;
        conv_depthwise_bands(&z, (const float *)r->tensors[0] + plane * in, r->scratch, row, end);
        from += (size_t)(end - row);
    }
}

/* ---- Linear tensors ------------------------------------------------------------------------- */

void conv_depthwise_run_linear(const kernel_run *r, const conv_depthwise_plan *p)
{
    const size_t in = (size_t)(p->s.in[0] * p->s.in[1]), b = p->block;
    const size_t out = (size_t)(p->s.out[0] * p->s.out[1]);
    float *x = r->scratch, *y = x + in * b, *copy = y + out * b;
    conv_depthwise_stretch z;
    size_t from, to;
    kernel_share(&from, &to, p->s.batch * p->blocks, r->part, r->parts);
    if (p->band && !r->resumed) conv_depthwise_pad(p, copy);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const size_t channel = i / p->blocks * p->s.groups + i % p->blocks * b;
        conv_depthwise_begin(&z, p, r->packed, i);
        const size_t lanes = z.lanes < b ? (size_t)z.lanes : b;
        if (lanes < b) memset(x, 0, in * b * sizeof *x);
        squares_transpose(x, b, (const float *)r->tensors[0] + channel * in, in, lanes, in);
        z.y = y;
        conv_depthwise_bands(&z, x, copy, 0, p->s.out[0]);
        squares_transpose((float *)r->tensors[p->s.inputs] + channel * out, out, y, b, out, lanes);
    }
}

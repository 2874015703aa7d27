/* SPDX-License-Identifier: Apache-2.0 */
/* ExpandedConv of pgy: running bands of rows. */
#include <string.h>

#include "base/cancel.h"
#include "kernels/expanded_conv.h"

/* The expanded rows of a pair of blocks that are in scratch memory. */
typedef struct band {
    const expanded_conv_plan *p;
    conv_tile_call call; /* what all tiles have in common */
    const float *x;      /* the image */
    float *rows;
    int64_t from, to; /* rows of the expanded tensor; `rows` begins with row `from` */
    uint64_t width;   /* blocks: 1 or 2 */
} band;

static uint64_t pairs_of(const expanded_conv_plan *p)
{
    return p->expand.out_units;
}

/* Floats of a padded row, and of the rows of a block. */
static size_t row_floats(const expanded_conv_plan *p)
{
    return (size_t)p->deep.width * p->deep.block;
}

static size_t block_floats(const expanded_conv_plan *p)
{
    return (size_t)conv_depthwise_reads(&p->deep.s, p->deep.band) * row_floats(p);
}

static void band_begin(band *a, const expanded_conv_plan *p, const kernel_run *r, uint64_t unit)
{
    const conv_plan *e = &p->expand;
    const uint64_t image = unit / pairs_of(p), pair = unit % pairs_of(p), b = e->block;
    const uint64_t lanes = (e->in_blocks - 1) * e->lanes + e->last_lanes, channel = 2 * pair * b;
    const float *packed = r->packed;
    const size_t plane = (size_t)(e->s.in[0] * e->s.in[1]) * b;
    *a = (band){.p = p,
                .x = (const float *)r->tensors[0] + image * e->in_blocks * plane,
                .rows = r->scratch,
                .width = e->out_blocks - 2 * pair < 2 ? 1 : 2};
    a->call = (conv_tile_call){.w = packed + e->packed_bias + channel * lanes,
                               .bias = packed + channel,
                               .pixel = b,
                               .blocks = e->in_blocks,
                               .rows = 1,
                               .columns = 1,
                               .lanes = e->lanes,
                               .last_lanes = e->last_lanes,
                               .block_step = plane,
                               .w_row_step = e->lanes * a->width * b,
                               .w_rows = 1,
                               .y_block = block_floats(p),
                               .activation = e->s.activation,
                               .parameter = {e->s.parameter[0], e->s.parameter[1]}};
}

static void expand_row(band *a, int64_t row)
{
    const expanded_conv_plan *p = a->p;
    const conv_shape *s = &p->deep.s;
    const conv_tiles *t = conv_tiles_of(p->deep.level);
    const int64_t b = (int64_t)p->deep.block, inner = conv_depthwise_inner(&p->deep);
    const int64_t tiles = (inner + (int64_t)t->pixels - 1) / (int64_t)t->pixels;
    const float *x = a->x + row * s->in[1] * b;
    float *y = a->rows + (size_t)(row - a->from) * row_floats(p) + s->pad[1] * b;
    for (int64_t i = 0, from = 0, to; i < tiles; i++, from = to) {
        to = (i + 1) * inner / tiles;
        a->call.x = x + from * b;
        a->call.y = y + from * b;
        t->run[a->width][to - from](&a->call);
    }
    for (uint64_t i = 0; a->call.activation >= CONV_SIGMOID && i < a->width; i++)
        conv_activate(a->call.activation, y + i * a->call.y_block, (size_t)(inner * b));
}

/* Makes the band hold rows [from, to); those that it has already stay. */
static void band_move(band *a, int64_t from, int64_t to)
{
    const size_t row = row_floats(a->p);
    const int64_t kept = a->to - from, gone = from - a->from;
    for (uint64_t i = 0; kept > 0 && gone > 0 && i < a->width; i++) {
        float *rows = a->rows + i * a->call.y_block;
        memmove(rows, rows + (size_t)gone * row, (size_t)kept * row * sizeof *rows);
    }
    a->from = from;
    a->to = kept > 0 ? a->to : from;
    for (; a->to < to && !cancel_requested(); a->to++) expand_row(a, a->to);
}

/* Computes output rows [row, end) of a unit. */
static void run_rows(const expanded_conv_plan *p, const kernel_run *r, uint64_t unit, int64_t row,
                     int64_t end)
{
    const conv_shape *s = &p->deep.s;
    const uint64_t first = unit / pairs_of(p) * p->deep.blocks + 2 * (unit % pairs_of(p));
    const float *packed = (const float *)r->packed + conv_plan_packed_floats(&p->expand);
    const size_t plane = (size_t)(s->out[0] * s->out[1]) * p->deep.block;
    conv_depthwise_stretch z[2];
    band a;
    band_begin(&a, p, r, unit);
    for (uint64_t i = 0; i < a.width; i++) {
        conv_depthwise_begin(&z[i], &p->deep, packed, first + i);
        z[i].y = (float *)r->tensors[p->inputs] + (first + i) * plane;
    }
    for (int64_t count; row < end && !cancel_requested(); row += count) {
        const int64_t top = row * s->stride[0] - s->pad[0];
        count = end - row < p->deep.band ? end - row : p->deep.band;
        const int64_t bottom = top + conv_depthwise_reads(s, count);
        band_move(&a, top > 0 ? top : 0, bottom < s->in[0] ? bottom : s->in[0]);
        for (uint64_t i = 0; i < a.width; i++) {
            z[i].x = a.rows + i * a.call.y_block + s->pad[1] * (int64_t)p->deep.block;
            z[i].first = a.from;
            conv_depthwise_rows(&z[i], row, count);
        }
    }
}

void expanded_conv_run_bands(const kernel_run *r)
{
    const expanded_conv_plan *p = r->params;
    const size_t height = (size_t)p->deep.s.out[0];
    size_t from, to;
    kernel_share(&from, &to, p->deep.s.batch * pairs_of(p) * height, r->part, r->parts);
    for (size_t i = 0; !r->resumed && i < 2; i++)
        conv_depthwise_pad(&p->deep, (float *)r->scratch + i * block_floats(p));
    while (from < to && !cancel_requested()) {
        const size_t row = from % height, left = to - from;
        const size_t end = left < height - row ? row + left : height;
        run_rows(p, r, from / height, (int64_t)row, (int64_t)end);
        from += end - row;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Direct convolution: running the units of a plan. */
#include <string.h>

#include "base/cancel.h"
#include "kernels/conv_plan.h"

/* Addresses and indices of a unit of work, or of some of its tiles. */
typedef struct place {
    const float *x;       /* the group's first channel, or the copied band */
    int64_t first_row;    /* the input row that x starts with */
    uint64_t skipped;     /* pixels of a padded input row before x */
    uint64_t width, rows; /* pixels per row and number of rows at x */
    uint64_t image, group, band, unit;
    uint64_t from, to; /* tiles */
} place;

/* The tiles of one unit that begin with grain `at` and end before grain `to` at the latest. */
static place conv_find(const conv_plan *p, size_t at, size_t to)
{
    const uint64_t grain = conv_plan_grain(p), grains = p->tiles / grain;
    const uint64_t index = at / (grains * p->out_units), inside = at % (grains * p->out_units);
    place a = {.image = index / p->s.groups, .group = index % p->s.groups};
    a.band = ((inside / p->out_units + 1) * p->bands - 1) / grains;
    const uint64_t start = conv_plan_band_start(p, a.band) / grain;
    const uint64_t count = conv_plan_band_start(p, a.band + 1) / grain - start;
    const uint64_t own = inside - start * p->out_units, first = own % count;
    a.unit = own / count;
    a.from = (start + first) * grain;
    a.to = (start + (to - at < count - first ? first + to - at : count)) * grain;
    return a;
}

/* Copies pixels [from, from + width) of a line; those outside of it are zeros. */
static void conv_copy_line(float *to, const float *line, uint64_t width, int64_t from, uint64_t in,
                           uint64_t item)
{
    const uint64_t pad = from >= 0 ? 0 : (uint64_t)-from < width ? (uint64_t)-from : width;
    const uint64_t start = from < 0 ? 0 : (uint64_t)from < in ? (uint64_t)from : in;
    const uint64_t room = width - pad, count = in - start < room ? in - start : room;
    memset(to, 0, pad * item * sizeof *to);
    memcpy(to + pad * item, line + start * item, count * item * sizeof *to);
    memset(to + (pad + count) * item, 0, (room - count) * item * sizeof *to);
}

/* Copies the input rows of a band, from column `column` on, with zeros on both sides. */
static void copy_band(float *to, const conv_plan *p, const float *x, int64_t column, int64_t from,
                      int64_t rows)
{
    const conv_shape *s = &p->s;
    const uint64_t item = p->linear ? 1 : p->block;
    const uint64_t plane = (uint64_t)(s->in[0] * s->in[1]) * item;
    for (uint64_t b = 0; b < p->in_blocks; b++)
        for (int64_t row = 0; row < rows; row++)
            conv_copy_line(to + (b * p->band_rows + (uint64_t)row) * p->width * item,
                           x + b * plane + (uint64_t)((from + row) * s->in[1]) * item, p->width,
                           column, (uint64_t)s->in[1], item);
}

static void conv_locate(place *a, const conv_plan *p, const float *x, float *scratch, bool fresh)
{
    const conv_shape *s = &p->s;
    const uint64_t item = p->linear ? 1 : p->block, plane = (uint64_t)(s->in[0] * s->in[1]) * item;
    a->x = x + (a->image * s->groups + a->group) * p->in_blocks * plane;
    a->width = (uint64_t)s->in[1];
    a->rows = (uint64_t)s->in[0];
    if (!p->copied) return;
    const uint64_t start = conv_plan_band_start(p, a->band);
    const int64_t row = (int64_t)(start / p->row_tiles);
    int64_t from = row * s->stride[0] - s->pad[0], to = from + (int64_t)p->band_rows;
    if (from < 0) from = 0;
    if (to > s->in[0]) to = s->in[0];
    a->skipped = start % p->row_tiles * (uint64_t)s->out[1] / p->row_tiles * (uint64_t)s->stride[1];
    if (fresh && from < to)
        copy_band(scratch, p, a->x, (int64_t)a->skipped - s->pad[1], from, to - from);
    a->x = scratch;
    a->first_row = from;
    a->width = p->width;
    a->rows = p->band_rows;
}

static void conv_run_finish(const conv_plan *p, const conv_tile_call *c, uint64_t width,
                            uint64_t pixels, uint64_t first)
{
    const uint64_t channels = p->s.out_channels / p->s.groups;
    for (uint64_t i = 0; i < width; i++) {
        const uint64_t lanes = channels - (first + i) * p->block;
        if (conv_must_finish(&p->s, p->block, lanes))
            conv_finish(&p->s, c->y + i * c->y_block, pixels, p->block, lanes);
    }
}

/* A part of the sums of a unit: blocks [from, to) of input channels. */
typedef struct slice {
    uint64_t from, to;
} slice;

/* Sets the kernel columns that fall inside the input at output column i, where the kernel is
 * dilated so far that many do not. Returns the first. *end: the end of the output columns, up to
 * `to`, that use the same. */
static uint64_t conv_column_taps(conv_tile_call *c, const conv_plan *p, uint64_t i, uint64_t to,
                                 uint64_t *end)
{
    enum { LEAST_DILATION = 6 };
    const conv_shape *s = &p->s;
    const int64_t step = s->dilation[1], start = (int64_t)i * s->stride[1] - s->pad[1];
    *end = to;
    if (step < LEAST_DILATION || !p->copied || p->linear) return 0;
    int64_t first = start < 0 ? (-start + step - 1) / step : 0;
    int64_t last = start < s->in[1] ? (s->in[1] - start + step - 1) / step : 0;
    if (last > s->kernel[1]) last = s->kernel[1];
    if (first > last) first = last;
    /* Pixels until tap first - 1 comes in, and until tap last - 1 goes out. */
    const int64_t in = first > 0 ? -(start + (first - 1) * step) : INT64_MAX;
    const int64_t out = last > first ? s->in[1] - (start + (last - 1) * step) : INT64_MAX;
    const int64_t room = (in < out ? in : out) - 1;
    if ((uint64_t)(room / s->stride[1]) < to - i - 1)
        *end = i + 1 + (uint64_t)(room / s->stride[1]);
    c->columns = (size_t)(last - first);
    c->w_skip = (size_t)s->kernel[1] - c->columns;
    c->w_column = (size_t)first;
    return (uint64_t)first;
}

static void conv_run_tile(const conv_plan *p, const place *a, conv_tile_call *c, const slice *part,
                          const float *sum, float *y, uint64_t tile)
{
    const conv_shape *s = &p->s;
    const conv_tiles *t = conv_tiles_of(p->level);
    const uint64_t item = p->linear ? 1 : p->block;
    const int64_t row = (int64_t)(tile / p->row_tiles);
    const uint64_t j = tile % p->row_tiles, out = (uint64_t)s->out[1];
    const uint64_t from = j * out / p->row_tiles, to = (j + 1) * out / p->row_tiles;
    const uint64_t width = p->out_blocks - 2 * a->unit < 2 ? 1 : 2;
    const bool ends = part->to == p->in_blocks;
    int64_t first, last;
    conv_row_taps(s, row, &first, &last);
    const int64_t in_row = row * s->stride[0] - s->pad[0] + first * s->dilation[0] - a->first_row;
    c->rows = (size_t)(last - first);
    c->w_first = (size_t)first;
    c->x = a->x + part->from * c->block_step;
    if (c->rows)
        c->x += ((uint64_t)in_row * a->width + from * (uint64_t)s->stride[1] - a->skipped) * item;
    const uint64_t plane = (uint64_t)s->out[0] * out * p->block;
    const uint64_t at = ((a->image * s->groups + a->group) * p->out_blocks + 2 * a->unit) * plane +
                        ((uint64_t)row * out + from) * p->block;
    const float *x = c->x;
    for (uint64_t i = from, end; i < to; i = end) {
        const uint64_t column = conv_column_taps(c, p, i, to, &end);
        c->x = x + ((i - from) * (uint64_t)s->stride[1] + column * (uint64_t)s->dilation[1]) * item;
        c->y = y + at + (i - from) * p->block;
        c->sum = sum && ends ? sum + at + (i - from) * p->block : NULL;
        t->run[width][end - i](c);
        if (ends) conv_run_finish(p, c, width, end - i, 2 * a->unit);
    }
}

/* Many tiles read the weights of a unit, so their sums are divided into slices whose weights stay
 * in the first-level cache. y keeps the sums between slices, so results are the same. */
static uint64_t conv_slice_blocks(const conv_plan *p, uint64_t tiles, uint64_t block_floats)
{
    enum { SLICE_FLOATS = 6 * 1024 };
    if (tiles < 2 || p->linear || p->in_blocks * block_floats <= 2 * SLICE_FLOATS)
        return p->in_blocks;
    return block_floats < SLICE_FLOATS ? SLICE_FLOATS / block_floats : 1;
}

static void conv_run_slice(const conv_plan *p, const place *a, const kernel_run *r,
                           conv_tile_call *c, const slice *part, const float *w)
{
    const conv_shape *s = &p->s;
    const uint64_t each = (p->out_blocks - 2 * a->unit < 2 ? 1 : 2) * p->block;
    const bool ends = part->to == p->in_blocks;
    const uint64_t taps = (uint64_t)s->kernel[0] * p->columns;
    c->w = w + part->from * p->lanes * taps * each;
    c->blocks = part->to - part->from;
    c->last_lanes = ends ? p->last_lanes : p->lanes;
    c->resumed = part->from > 0;
    c->activation = ends ? s->activation : CONV_NO_ACTIVATION;
    const uint64_t size = ((c->blocks - 1) * p->lanes + c->last_lanes) * taps * each;
    for (uint64_t tile = a->from; tile < a->to; tile++) {
        conv_tile_fetch(c, size, each, tile - a->from, a->to - a->from);
        conv_run_tile(p, a, c, part, s->has_sum ? r->tensors[3] : NULL, r->tensors[s->inputs],
                      tile);
    }
}

static void conv_unit(const conv_plan *p, const place *a, const kernel_run *r)
{
    const conv_shape *s = &p->s;
    const uint64_t item = p->linear ? 1 : p->block, b = p->block;
    const uint64_t lanes = (p->in_blocks - 1) * p->lanes + p->last_lanes;
    const uint64_t taps = (uint64_t)s->kernel[0] * p->columns;
    const uint64_t channel = (a->group * p->out_blocks + 2 * a->unit) * b;
    const uint64_t width = p->out_blocks - 2 * a->unit < 2 ? 1 : 2;
    const float *packed = r->packed;
    conv_tile_call c = {
        .bias = packed + channel,
        .pixel = (uint64_t)s->stride[1] * item,
        .columns = p->columns,
        .lanes = p->lanes,
        .block_step = a->rows * a->width * item,
        .row_step = (uint64_t)s->dilation[0] * a->width * item,
        .column_step = (uint64_t)s->dilation[1] * item,
        .w_row_step = p->columns * p->lanes * width * b,
        .w_rows = (uint64_t)s->kernel[0],
        .y_block = (uint64_t)(s->out[0] * s->out[1]) * b,
        .parameter = {s->parameter[0], s->parameter[1]},
    };
    const uint64_t step = conv_slice_blocks(p, a->to - a->from, p->lanes * taps * width * b);
    slice part = {0};
    for (; part.from < p->in_blocks; part.from = part.to) {
        part.to = part.from + step < p->in_blocks ? part.from + step : p->in_blocks;
        conv_run_slice(p, a, r, &c, &part, packed + p->packed_bias + channel * lanes * taps);
    }
}

void conv_plan_run(const kernel_run *r, const conv_plan *whole)
{
    const conv_plan own = conv_plan_cut(whole, r->parts), *p = &own;
    size_t from, to, *copied = r->scratch; /* the band that lies behind it */
    float *rows = p->copied ? (float *)r->scratch + CONV_PLAN_NOTE : NULL;
    kernel_share(&from, &to, conv_plan_grains(p), r->part, r->parts);
    if (p->copied && !r->resumed) *copied = SIZE_MAX;
    while (from < to && !cancel_requested()) {
        place a = conv_find(p, from, to);
        const size_t band = (a.image * p->s.groups + a.group) * p->bands + a.band;
        conv_locate(&a, p, r->tensors[0], rows, p->copied && *copied != band);
        if (p->copied) *copied = band;
        conv_unit(p, &a, r);
        from += (a.to - a.from) / conv_plan_grain(p);
    }
}

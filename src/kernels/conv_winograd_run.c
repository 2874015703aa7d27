/* SPDX-License-Identifier: Apache-2.0 */
/* The run of Winograd's convolution. */
#include <string.h>

#include "base/cancel.h"
#include "kernels/conv_plan.h"
#include "kernels/conv_tile.h"
#include "kernels/conv_winograd_parts.h"
#include "kernels/extent.h"

/* Parts of a long step for each thread. */
enum { PARTS = 4 };

winograd_params winograd_cut_finer(const winograd_params *p, uint32_t parts)
{
    winograd_params own = *p;
    const uint64_t pixels = conv_tiles_of(p->level)->pixels;
    uint64_t runs = (parts + p->out_units - 1) / p->out_units, least = pixels / 2;
    /* Too few units even so: shorter runs still fill the multipliers better than idle threads. */
    if (p->tiles / least * PARTS < runs) least = (pixels + 3) / 4;
    const uint64_t most = p->tiles > least ? p->tiles / least : 1;
    if (runs > most) runs = most;
    if (runs <= p->runs) return own;
    own.run = (p->tiles + runs - 1) / runs;
    own.runs = (p->tiles + own.run - 1) / own.run;
    return own;
}

/* Tiles side by side that are computed directly at once, and the pixels of their inputs. */
enum {
    STRETCH = 3,
    STRETCH_IN = STRETCH * WINOGRAD_OUT + 2,
    STRETCH_PIXELS = WINOGRAD_IN * STRETCH_IN
};

/* Scratch memory of a thread: v: transformed inputs [36][in_blocks][run][block]; m: products
 * [36][2][run][block]; patches: a stretch of tiles with its padding [in_blocks][6][14][block]; w:
 * transformed weights of some input channels, see winograd_transform_chunk, or of all channels of
 * each unit. */
typedef struct scratch {
    size_t *transformed; /* the run whose tiles are in v */
    float *w, *v, *m, *patches;
    bool *strange; /* [run][in_blocks]: this tile and input block has strange inputs */
    bool *ready;   /* [out_units]: the unit's weights are in w, if they are kept */
} scratch;

/* Bytes of the buffers in `struct scratch`. */
uint64_t winograd_scratch_bytes(const winograd_params *p)
{
    const uint64_t points = extent_mul3(p->run, p->in_blocks + 2, WINOGRAD_POINTS);
    const uint64_t numbers = extent_add(points, extent_mul(p->in_blocks, STRETCH_PIXELS));
    const uint64_t fixed = WINOGRAD_NOTE_FLOATS + winograd_weight_room(p);
    const uint64_t marks = extent_add(extent_mul(p->run, p->in_blocks), p->out_units);
    return extent_add(
        extent_add(extent_mul(numbers, p->block * sizeof(float)), marks * sizeof(bool)),
        extent_mul(fixed, sizeof(float)));
}

/* The place of a tile: its image and first output. */
typedef struct place {
    uint64_t image;
    int64_t row, column;
} place;

static place conv_winograd_find(const winograd_params *p, uint64_t tile)
{
    const uint64_t each = p->rows * p->columns, at = tile % each;
    return (place){.image = tile / each,
                   .row = (int64_t)(at / p->columns) * WINOGRAD_OUT,
                   .column = (int64_t)(at % p->columns) * WINOGRAD_OUT};
}

/* Copies 6 rows of `width` inputs from (row, column); zeros stand for padding. */
static void conv_winograd_copy_patch(float *to, const winograd_params *p, const float *x,
                                     int64_t row, int64_t column, int64_t width)
{
    const int64_t b = (int64_t)p->block, left = p->s.in[1] - column;
    const int64_t from = column < 0 ? -column : 0, end = left < width ? left : width;
    memset(to, 0, (size_t)(WINOGRAD_IN * width * b) * sizeof *to);
    for (int64_t r = 0; r < WINOGRAD_IN && from < end; r++)
        if (row + r >= 0 && row + r < p->s.in[0])
            memcpy(to + (r * width + from) * b, x + ((row + r) * p->s.in[1] + column + from) * b,
                   (size_t)((end - from) * b) * sizeof *to);
}

/* Are the inputs of `count` tiles side by side inside the image? */
static bool is_inside(const winograd_params *p, int64_t row, int64_t column, uint64_t count)
{
    return row >= 0 && column >= 0 && row + WINOGRAD_IN <= p->s.in[0] &&
           column + (int64_t)count * WINOGRAD_OUT + 2 <= p->s.in[1];
}

/* ---- Inputs that are not finite ------------------------------------------------------------- */

/* A transform spreads Inf and NaN over the whole tile, and overflows where the convolution does
 * not. So tiles with strange inputs (Inf, NaN and numbers that overflow) are computed directly. */

static bool has_strange(const winograd_params *p, const scratch *s, uint64_t i)
{
    return memchr(s->strange + i * p->in_blocks, true, p->in_blocks) != NULL;
}

/* Is there a tile among `count` whose transform serves? */
static bool has_finite(const winograd_params *p, const scratch *s, uint64_t count)
{
    bool all = true;
    for (uint64_t i = 0; all && i < count; i++) all = has_strange(p, s, i);
    return !all;
}

/* Computes a row of a tile directly. x, at: where its inputs, and its outputs in their tensor,
 * begin. left: number of output channels from the first block on. */
static void compute_row(const winograd_params *p, conv_tile_call *c, const kernel_run *r,
                        const float *x, uint64_t at, uint64_t pixels, uint64_t width, uint64_t left)
{
    const conv_tiles *t = conv_tiles_of(p->level);
    const uint64_t b = p->block;
    for (uint64_t i = 0, count; i < pixels; i += count) {
        count = pixels - i < t->pixels ? pixels - i : t->pixels;
        c->x = x + i * b;
        c->y = (float *)r->tensors[p->s.inputs] + at + i * b;
        c->sum = p->s.has_sum ? (const float *)r->tensors[3] + at + i * b : NULL;
        t->run[width][count](c);
        /* Also because NaN times the zeros of absent channels is not 0. */
        for (uint64_t k = 0; k < width; k++)
            conv_finish(&p->s, c->y + k * c->y_block, count, b, left - k * b);
    }
}

/* Computes `count` tiles side by side directly. c: all but their addresses; unit: of output
 * channels. */
static void compute_directly(const winograd_params *p, const scratch *s, conv_tile_call *c,
                             const kernel_run *r, place a, uint64_t count, uint64_t unit,
                             uint64_t width)
{
    const uint64_t b = p->block, plane = (uint64_t)(p->s.in[0] * p->s.in[1]) * b;
    const int64_t rows = p->s.out[0] - a.row, left = p->s.out[1] - a.column;
    const int64_t columns = (int64_t)count * WINOGRAD_OUT, reads = columns + 2;
    const int64_t row = a.row - p->s.pad[0], column = a.column - p->s.pad[1];
    const float *x = (const float *)r->tensors[0] + a.image * p->in_blocks * plane;
    const bool inside = is_inside(p, row, column, count);
    c->block_step = inside ? plane : WINOGRAD_IN * (uint64_t)reads * b;
    c->row_step = (uint64_t)(inside ? p->s.in[1] : reads) * b;
    for (uint64_t block = 0; !inside && block < p->in_blocks; block++)
        conv_winograd_copy_patch(s->patches + block * c->block_step, p, x + block * plane, row,
                                 column, reads);
    const float *patch = inside ? x + (row * p->s.in[1] + column) * (int64_t)b : s->patches;
    for (int64_t i = 0; i < WINOGRAD_OUT && i < rows; i++)
        compute_row(p, c, r, patch + (uint64_t)i * c->row_step,
                    (a.image * p->out_blocks + 2 * unit) * c->y_block +
                        (uint64_t)((a.row + i) * p->s.out[1] + a.column) * b,
                    (uint64_t)(columns < left ? columns : left), width,
                    p->s.out_channels - 2 * unit * b);
}

/* Of the tiles of a run from tile i on, the number of those that are strange and lie side by side,
 * up to STRETCH. */
static uint64_t strange_side_by_side(const winograd_params *p, const scratch *s, uint64_t first,
                                     uint64_t i, uint64_t count)
{
    const uint64_t row = p->columns - (first + i) % p->columns;
    uint64_t most = count - i < row ? count - i : row, found = 0;
    if (most > STRETCH) most = STRETCH;
    while (found < most && has_strange(p, s, i + found)) found++;
    return found;
}

/* Computes the tiles of a run that have strange inputs. */
static void compute_strange(const winograd_params *p, const scratch *s, const kernel_run *r,
                            uint64_t first, uint64_t count, uint64_t unit)
{
    const uint64_t b = p->block, width = winograd_unit_width(p, unit);
    conv_tile_call c = {.w = winograd_unit_weights(p, r->packed, unit),
                        .bias = (const float *)r->packed + 2 * unit * b,
                        .pixel = b,
                        .blocks = p->in_blocks,
                        .rows = 3,
                        .columns = 3,
                        .lanes = b,
                        .last_lanes = p->s.in_channels - (p->in_blocks - 1) * b,
                        .column_step = b,
                        .w_row_step = 3 * b * width * b,
                        .w_rows = 3,
                        .y_block = (uint64_t)(p->s.out[0] * p->s.out[1]) * b,
                        .activation = p->s.activation,
                        .parameter = {p->s.parameter[0], p->s.parameter[1]}};
    for (uint64_t i = 0, side; i < count; i += side + !side) {
        side = strange_side_by_side(p, s, first, i, count);
        if (side)
            compute_directly(p, s, &c, r, conv_winograd_find(p, first + i), side, unit, width);
    }
}

/* ---- Tiles ---------------------------------------------------------------------------------- */

static void transform_run(const winograd_params *p, const scratch *s, const float *x,
                          uint64_t first, uint64_t count)
{
    const winograd_transforms *t = winograd_transforms_of(p->level);
    const uint64_t b = p->block, plane = (uint64_t)(p->s.in[0] * p->s.in[1]) * b;
    const uint64_t v_step = p->in_blocks * p->run * b;
    for (uint64_t i = 0; i < count; i++) {
        const place a = conv_winograd_find(p, first + i);
        const int64_t row = a.row - p->s.pad[0], column = a.column - p->s.pad[1];
        const bool inside = is_inside(p, row, column, 1);
        bool *strange = s->strange + i * p->in_blocks;
        memset(strange, 0, p->in_blocks * sizeof *strange);
        /* A tile with a strange block is computed directly, so its later blocks are left out. */
        for (uint64_t block = 0; block < p->in_blocks && !(block && strange[block - 1]); block++) {
            const float *from = x + (a.image * p->in_blocks + block) * plane;
            float *v = s->v + (block * p->run + i) * b;
            const float *patch = s->patches;
            size_t row_step = WINOGRAD_IN * b;
            if (inside) {
                patch = from + (row * p->s.in[1] + column) * (int64_t)b;
                row_step = (size_t)p->s.in[1] * b;
            } else {
                conv_winograd_copy_patch(s->patches, p, from, row, column, WINOGRAD_IN);
            }
            strange[block] = !t->in(v, v_step, patch, row_step);
        }
    }
}

/* Multiplies all points of `channels` input channels, from `channel` on, by the transformed weights
 * `w`, for one or two blocks of output channels. Meanwhile brings the plain weights `next` near;
 * NULL: none. */
static void multiply_chunk(const winograd_params *p, const scratch *s, const float *w,
                           uint64_t width, uint64_t count, uint64_t channel, uint64_t channels,
                           const char *next)
{
    static const float ZEROS[32] = {0};
    enum { LINE = 64 };
    const conv_tiles *t = conv_tiles_of(p->level);
    const uint64_t b = p->block, cuts = (count + t->pixels - 1) / t->pixels;
    const uint64_t blocks = conv_blocks(channels, b);
    const uint64_t lines =
        next ? channels * width * b * 9 * sizeof(float) / LINE / WINOGRAD_POINTS : 0;
    conv_tile_call c = {.bias = ZEROS,
                        .pixel = b,
                        .blocks = blocks,
                        .rows = 1,
                        .columns = 1,
                        .lanes = b,
                        .last_lanes = channels - (blocks - 1) * b,
                        .block_step = p->run * b,
                        .w_row_step = b * width * b,
                        .w_rows = 1,
                        .y_block = p->run * b};
    for (uint64_t point = 0; point < WINOGRAD_POINTS; point++) {
        const float *x = s->v + (point * p->in_blocks + channel / b) * p->run * b;
        c.w = w + point * winograd_chunk_step(p);
        for (uint64_t i = 0; i < lines; i++, next += LINE) __builtin_prefetch(next, 0, 2);
        for (uint64_t i = 0; i < cuts; i++) {
            const uint64_t from = i * count / cuts, to = (i + 1) * count / cuts;
            c.x = x + from * b;
            c.y = s->m + (point * 2 * p->run + from) * b;
            c.sum = channel ? c.y : NULL;
            t->run[width][to - from](&c);
        }
    }
}

/* All transformed weights of a unit, which are made when this thread first comes to it. */
static const float *kept_weights(const winograd_params *p, const scratch *s, const kernel_run *r,
                                 uint64_t unit)
{
    float *w = s->w + unit * WINOGRAD_POINTS * winograd_chunk_step(p);
    if (!s->ready[unit])
        winograd_transform_chunk(w, p, winograd_unit_weights(p, r->packed, unit),
                                 winograd_unit_width(p, unit) * p->block, 0, p->s.in_channels);
    s->ready[unit] = true;
    return w;
}

/* Multiplies all points by the weights of a unit. */
static void conv_winograd_multiply(const winograd_params *p, const scratch *s, const kernel_run *r,
                                   uint64_t unit, uint64_t count)
{
    const uint64_t each = winograd_chunk_channels(p), width = winograd_unit_width(p, unit);
    const float *w = winograd_unit_weights(p, r->packed, unit);
    if (winograd_keeps_weights(p)) {
        multiply_chunk(p, s, kept_weights(p, s, r, unit), width, count, 0, p->s.in_channels, NULL);
        return;
    }
    for (uint64_t channel = 0; channel < p->s.in_channels; channel += each) {
        const uint64_t left = p->s.in_channels - channel, channels = left < each ? left : each;
        const float *next = w + (channel + channels) * width * p->block * 9;
        winograd_transform_chunk(s->w, p, w, width * p->block, channel, channels);
        multiply_chunk(p, s, s->w, width, count, channel, channels,
                       left < each ? NULL : (const char *)next);
    }
}

/* Applies what conv_end does not do to the pixels that were stored. */
static void finish_tile(const winograd_params *p, const winograd_end *e, uint64_t lanes)
{
    if (!conv_must_finish(&p->s, p->block, lanes)) return;
    for (size_t row = 0; row < e->rows; row++)
        conv_finish(&p->s, e->y + row * e->row_step, e->columns, p->block, lanes);
}

static void conv_winograd_store(const winograd_params *p, const scratch *s, const kernel_run *r,
                                uint64_t first, uint64_t count, uint64_t out_block)
{
    const winograd_transforms *t = winograd_transforms_of(p->level);
    const uint64_t b = p->block, width = (uint64_t)p->s.out[1];
    const uint64_t plane = (uint64_t)p->s.out[0] * width * b;
    winograd_end e = {.bias = (const float *)r->packed + out_block * b,
                      .row_step = width * b,
                      .activation = p->s.activation,
                      .parameter = {p->s.parameter[0], p->s.parameter[1]}};
    for (uint64_t i = 0; i < count; i++) {
        if (has_strange(p, s, i)) continue;
        const place a = conv_winograd_find(p, first + i);
        const int64_t rows = p->s.out[0] - a.row, columns = p->s.out[1] - a.column;
        const uint64_t at = (a.image * p->out_blocks + out_block) * plane +
                            ((uint64_t)a.row * width + (uint64_t)a.column) * b;
        e.rows = (size_t)(rows < WINOGRAD_OUT ? rows : WINOGRAD_OUT);
        e.columns = (size_t)(columns < WINOGRAD_OUT ? columns : WINOGRAD_OUT);
        e.y = (float *)r->tensors[p->s.inputs] + at;
        e.sum = p->s.has_sum ? (const float *)r->tensors[3] + at : NULL;
        e.sum_step = e.row_step;
        t->out(&e, s->m + (out_block % 2 * p->run + i) * b, 2 * p->run * b);
        finish_tile(p, &e, p->s.out_channels - out_block * b);
    }
}

static scratch divide_scratch(const winograd_params *p, void *memory)
{
    const uint64_t points = WINOGRAD_POINTS * p->block;
    float *w = (float *)memory + WINOGRAD_NOTE_FLOATS, *v = w + winograd_weight_room(p),
          *m = v + points * p->run * p->in_blocks, *patches = m + points * p->run * 2;
    bool *strange = (bool *)(patches + STRETCH_PIXELS * p->block * p->in_blocks);
    return (scratch){.transformed = memory,
                     .w = w,
                     .v = v,
                     .m = m,
                     .patches = patches,
                     .strange = strange,
                     .ready = strange + p->run * p->in_blocks};
}

/* In which order are the runs and units divided among threads? If all units of a run follow each
 * other, each thread makes the weights of all units; if all runs of a unit do, tiles are
 * transformed for each unit. The weights of a unit take as long as about 20 tiles. */
static bool goes_by_unit(const winograd_params *p, uint32_t parts)
{
    enum { TILES = 20 };
    const uint64_t threads = parts / PARTS;
    return threads > 1 && p->tiles * (p->out_units - 1) < TILES * threads * p->out_units;
}

void conv_winograd_run(const kernel_run *r)
{
    const winograd_params own = winograd_cut_finer(r->params, r->parts), *p = &own;
    const scratch s = divide_scratch(p, r->scratch);
    size_t from, to;
    const bool by_unit = goes_by_unit(p, r->parts);
    kernel_share(&from, &to, p->runs * p->out_units, r->part, r->parts);
    if (!r->resumed) {
        *s.transformed = SIZE_MAX;
        memset(s.ready, 0, p->out_units * sizeof *s.ready);
    }
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const uint64_t index = by_unit ? i % p->runs : i / p->out_units;
        const uint64_t unit = by_unit ? i / p->runs : i % p->out_units;
        const uint64_t first = index * p->run;
        if (first >= p->tiles) break;
        const uint64_t count = p->tiles - first < p->run ? p->tiles - first : p->run;
        const uint64_t width = winograd_unit_width(p, unit);
        if (index != *s.transformed) transform_run(p, &s, r->tensors[0], first, count);
        *s.transformed = index;
        if (has_finite(p, &s, count)) {
            conv_winograd_multiply(p, &s, r, unit, count);
            for (uint64_t k = 0; k < width; k++)
                conv_winograd_store(p, &s, r, first, count, 2 * unit + k);
        }
        compute_strange(p, &s, r, first, count, unit);
    }
}

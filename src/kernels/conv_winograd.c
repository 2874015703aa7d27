/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution 3 x 3 with stride 1 by Winograd's F(4x4, 3x3): tiles of 6 x 6 inputs are transformed
 * to 36 points, multiplied by the transformed weights, and transformed back to 4 x 4 outputs. This
 * takes 2.25 multiplications for each output and channel instead of 9. A unit of work is a run of
 * tiles by two blocks of output channels. The transformed tiles of a run serve all output
 * channels.
 *
 * The weights are packed as for a direct convolution. Transformed ones are four times as large, and
 * to read them from memory takes about as long as to make them from the plain ones, so each run
 * makes them: a unit makes those of some input channels before it multiplies by them, or, if all
 * are small, a phase before makes them once for all units. */
#include "kernels/conv_winograd.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/conv.h"
#include "kernels/conv_plan.h"
#include "kernels/conv_tile.h"
#include "kernels/extent.h"

/* CHUNK: input channels whose weights are transformed at a time; APART: floats between two of their
 * points, which would otherwise map to one cache set; SHARED_BYTES: limit of all transformed
 * weights that are made in a phase of their own */
enum {
    FAST_BYTES = 512 * 1024,
    RUN_OF_LARGE = 56,
    MOST_PARTS = 256,
    NOTE_FLOATS = 16,
    CHUNK = 64,
    APART = 16,
    SHARED_BYTES = 5 * FAST_BYTES / 2
};

typedef struct params {
    conv_shape s;
    uint32_t level;
    uint64_t block, in_blocks, out_blocks, out_units;
    /* run: number of tiles in a run; runs: number of runs */
    uint64_t rows, columns, tiles, run, runs;
} params;

static const winograd_transforms *transforms_of(uint32_t level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &winograd_avx512;
    if (level >= CPU_AVX2) return &winograd_avx2;
#endif
    (void)level;
    return &winograd_portable;
}

static bool is_possible(const conv_shape *s, size_t block)
{
    for (int d = 0; d < 2; d++)
        if (s->kernel[d] != 3 || s->stride[d] != 1 || s->dilation[d] != 1 || s->pad[d] > 2 ||
            s->out[d] < WINOGRAD_OUT)
            return false;
    const size_t lanes = s->out_channels % block;
    return s->groups == 1 && s->in_channels >= block && s->out_channels >= block &&
           !conv_must_finish(s, block, lanes ? lanes : block);
}

static double weight_bytes(const params *p)
{
    return (double)(WINOGRAD_POINTS * sizeof(float)) * (double)p->s.in_channels *
           (double)(p->out_blocks * p->block);
}

/* Divides the work; the result follows from the shape and the processor level. */
static void conv_winograd_cut(params *p)
{
    p->in_blocks = conv_blocks(p->s.in_channels, p->block);
    p->out_blocks = conv_blocks(p->s.out_channels, p->block);
    p->out_units = (p->out_blocks + 1) / 2;
    p->rows = (uint64_t)(p->s.out[0] + WINOGRAD_OUT - 1) / WINOGRAD_OUT;
    p->columns = (uint64_t)(p->s.out[1] + WINOGRAD_OUT - 1) / WINOGRAD_OUT;
    p->tiles = p->s.batch * p->rows * p->columns;
    uint64_t run = FAST_BYTES / (WINOGRAD_POINTS * p->in_blocks * p->block * sizeof(float));
    const uint64_t least =
        weight_bytes(p) > 4 * FAST_BYTES ? RUN_OF_LARGE : conv_tiles_of(p->level)->pixels;
    if (run < least) run = least;
    p->runs = (p->tiles + run - 1) / run;
    p->run = (p->tiles + p->runs - 1) / p->runs;
}

/* With shorter runs, if there are fewer units than `parts`. The same tiles give the same bits. */
static params cut_finer(const params *p, uint32_t parts)
{
    params own = *p;
    const uint64_t least = conv_tiles_of(p->level)->pixels / 2;
    const uint64_t most = p->tiles > least ? p->tiles / least : 1;
    uint64_t runs = (parts + p->out_units - 1) / p->out_units;
    if (runs > most) runs = most;
    if (runs <= p->runs) return own;
    own.run = (p->tiles + runs - 1) / runs;
    own.runs = (p->tiles + own.run - 1) / own.run;
    return own;
}

static bool conv_winograd_describe(params *p, const kernel_problem *u, cpu_level level)
{
    *p = (params){.level = level, .block = conv_tiles_of(level)->block};
    if (!conv_describe(&p->s, u) || !is_possible(&p->s, p->block)) return false;
    conv_winograd_cut(p);
    return true;
}

static bool conv_winograd_accept(kernel_problem *u, double *cost_ns)
{
    const cpu_level level = u->self->needs;
    const double flops_per_ns = u->self->rates[0];
    const double transform_ns = u->self->rates[1];
    params p;
    if (!conv_winograd_describe(&p, u, level)) return false;
    const kernel_layout layout = p.block == 16 ? KERNEL_BLOCKED_16 : KERNEL_BLOCKED_8;
    conv_set_layouts(u, layout, layout);
    const double products = 2.0 * WINOGRAD_POINTS * (double)p.tiles * (double)p.s.in_channels *
                            (double)(p.out_blocks * p.block);
    const double idle = p.run < 4 ? 4 / (double)p.run : 1;
    const double bytes = weight_bytes(&p);
    *cost_ns = products * idle / flops_per_ns +
               (double)(p.tiles * (p.in_blocks + p.out_blocks)) * transform_ns +
               bytes * (double)p.runs / (bytes > FAST_BYTES * 2 ? 20 : 80);
    return true;
}

/* ---- Weights -------------------------------------------------------------------------------- */

/* Where the weights of an input channel for a unit `width` floats wide lie, behind `from`, and the
 * distance of their taps. */
static uint64_t taps_at(uint64_t *tap, const params *p, uint64_t channel, uint64_t width)
{
    const uint64_t first = channel / p->block * p->block, left = p->s.in_channels - first;
    *tap = (left < p->block ? left : p->block) * width;
    return (first * 9 + channel - first) * width;
}

static bool is_shared(const params *p)
{
    return weight_bytes(p) <= SHARED_BYTES;
}

static uint64_t chunk_channels(const params *p)
{
    return p->s.in_channels < CHUNK || is_shared(p) ? p->s.in_channels : CHUNK;
}

/* Floats between the points of the transformed weights of a chunk. */
static uint64_t chunk_step(const params *p)
{
    return chunk_channels(p) * 2 * p->block + APART;
}

/* Bytes of the transformed weights that the units share. */
static uint64_t shared_bytes(const params *p)
{
    return is_shared(p) ? p->out_units * WINOGRAD_POINTS * chunk_step(p) * sizeof(float) : 0;
}

/* The weights of a unit in `packed`, behind the biases. */
static const float *unit_weights(const params *p, const void *packed, uint64_t unit)
{
    return (const float *)packed + p->out_blocks * p->block +
           unit * 2 * p->block * 9 * p->s.in_channels;
}

static uint64_t unit_width(const params *p, uint64_t unit)
{
    return p->out_blocks - 2 * unit < 2 ? 1 : 2;
}

/* Transforms the weights of `count` input channels from `channel` on, for a unit `width` floats
 * wide, to [point][input channel][output channel]. */
static void transform_chunk(float *to, const params *p, const float *w, uint64_t width,
                            uint64_t channel, uint64_t count)
{
    const winograd_transforms *t = transforms_of(p->level);
    for (uint64_t c = 0; c < count; c += p->block) {
        uint64_t tap;
        const uint64_t at = taps_at(&tap, p, channel + c, width);
        t->weights(to + c * width, chunk_step(p), w + at, tap, tap);
    }
}

/* Bytes of the buffers in `struct scratch`. */
static uint64_t scratch_bytes(const params *p)
{
    const uint64_t tiles = extent_add(extent_mul(p->run, p->in_blocks + 2), p->in_blocks);
    const uint64_t numbers = extent_mul(tiles, WINOGRAD_POINTS);
    const uint64_t fixed = NOTE_FLOATS + (is_shared(p) ? 0 : WINOGRAD_POINTS * chunk_step(p));
    return extent_add(extent_add(extent_mul(numbers, p->block * sizeof(float)),
                                 extent_mul(p->run, p->in_blocks * sizeof(bool))),
                      fixed * sizeof(float));
}

static pgy_status conv_winograd_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)conv_winograd_describe(p, u, u->self->needs); /* cannot fail after `accept` */
    const params finest = cut_finer(p, MOST_PARTS);
    const uint64_t units = finest.runs * p->out_units;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .in_place = -1};
    out->phases = 1 + is_shared(p);
    out->parts = (uint32_t)(units < MOST_PARTS ? units : MOST_PARTS);
    out->workspace_bytes = shared_bytes(p);
    out->scratch_bytes = scratch_bytes(p);
    conv_plan direct;
    conv_plan_make(&direct, &p->s, u->self->needs, u->inputs[0].layout);
    const pgy_status st = conv_plan_pack(out, &direct, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

/* All other members follow from the shape and the level: recompute and compare them. */
static bool conv_winograd_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !conv_extent(e, q, &p->s)) return false;
    const conv_shape *s = &p->s;
    params own = *p;
    if (p->block != conv_tiles_of(p->level)->block || !is_possible(s, p->block))
        return extent_refuse(e, "sizes");
    const uint64_t out = extent_mul(s->batch, (uint64_t)(s->out[0] * s->out[1]));
    if (out > INT64_MAX) return extent_refuse(e, "sizes");
    conv_winograd_cut(&own);
    if (memcmp(&own, p, sizeof own)) return extent_refuse(e, "blocks");
    const uint64_t padded = p->out_blocks * p->block;
    conv_extent_tensors(
        e, s, extent_mul3(s->batch, p->in_blocks * p->block, (uint64_t)(s->in[0] * s->in[1])),
        extent_mul(out, padded));
    e->packed = extent_mul3(padded, 1 + 9 * s->in_channels, sizeof(float));
    e->phases = 1 + is_shared(p);
    e->workspace = shared_bytes(p);
    e->scratch = scratch_bytes(p);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Scratch memory of a thread: v: transformed inputs [36][in_blocks][run][block]; m: products
 * [36][2][run][block]; patches: one tile with its padding [in_blocks][6][6][block]; w: transformed
 * weights of some input channels, see transform_chunk. */
typedef struct scratch {
    size_t *transformed; /* the run whose tiles are in v */
    float *w, *v, *m, *patches;
    bool *strange; /* [run][in_blocks]: this tile and input block has strange inputs */
} scratch;

/* The place of a tile: its image and first output. */
typedef struct place {
    uint64_t image;
    int64_t row, column;
} place;

static place conv_winograd_find(const params *p, uint64_t tile)
{
    const uint64_t each = p->rows * p->columns, at = tile % each;
    return (place){.image = tile / each,
                   .row = (int64_t)(at / p->columns) * WINOGRAD_OUT,
                   .column = (int64_t)(at % p->columns) * WINOGRAD_OUT};
}

/* Copies the 6 x 6 inputs from (row, column); zeros stand for padding. */
static void conv_winograd_copy_patch(float *to, const params *p, const float *x, int64_t row,
                                     int64_t column)
{
    const int64_t b = (int64_t)p->block;
    memset(to, 0, WINOGRAD_POINTS * p->block * sizeof *to);
    for (int64_t r = 0; r < WINOGRAD_IN; r++) {
        if (row + r < 0 || row + r >= p->s.in[0]) continue;
        for (int64_t c = 0; c < WINOGRAD_IN; c++)
            if (column + c >= 0 && column + c < p->s.in[1])
                memcpy(to + (r * WINOGRAD_IN + c) * b,
                       x + ((row + r) * p->s.in[1] + column + c) * b, p->block * sizeof *to);
    }
}

/* ---- Inputs that are not finite ------------------------------------------------------------- */

/* A transform spreads Inf and NaN over the whole tile, and overflows where the convolution does
 * not. So tiles with strange inputs (Inf, NaN and numbers that overflow) are computed directly. */

static bool has_strange(const params *p, const scratch *s, uint64_t i)
{
    return memchr(s->strange + i * p->in_blocks, true, p->in_blocks) != NULL;
}

/* Computes a row of a tile directly. x, at: where its inputs, and its outputs in their tensor,
 * begin. left: number of output channels from the first block on. */
static void compute_row(const params *p, conv_tile_call *c, const kernel_run *r, const float *x,
                        uint64_t at, uint64_t pixels, uint64_t width, uint64_t left)
{
    const conv_tiles *t = conv_tiles_of(p->level);
    const uint64_t b = p->block;
    for (uint64_t i = 0, count; i < pixels; i += count) {
        count = pixels - i < t->pixels ? pixels - i : t->pixels;
        c->x = x + i * b;
        c->y = (float *)r->tensors[p->s.inputs] + at + i * b;
        c->sum = p->s.has_sum ? (const float *)r->tensors[3] + at + i * b : NULL;
        t->run[width][count](c);
        /* NaN times the zeros of absent channels is not 0. */
        for (uint64_t k = 0; left < width * b && k < count; k++)
            memset(c->y + left / b * c->y_block + k * b + left % b, 0,
                   (b - left % b) * sizeof *c->y);
    }
}

/* Computes one tile directly. c: all but the addresses of the tile; unit: of output channels. */
static void compute_directly(const params *p, const scratch *s, conv_tile_call *c,
                             const kernel_run *r, place a, uint64_t unit, uint64_t width)
{
    const uint64_t b = p->block, plane = (uint64_t)(p->s.in[0] * p->s.in[1]) * b;
    const int64_t rows = p->s.out[0] - a.row, columns = p->s.out[1] - a.column;
    const float *x = (const float *)r->tensors[0] + a.image * p->in_blocks * plane;
    for (uint64_t block = 0; block < p->in_blocks; block++)
        conv_winograd_copy_patch(s->patches + block * WINOGRAD_POINTS * b, p, x + block * plane,
                                 a.row - p->s.pad[0], a.column - p->s.pad[1]);
    for (int64_t i = 0; i < WINOGRAD_OUT && i < rows; i++)
        compute_row(p, c, r, s->patches + (uint64_t)i * WINOGRAD_IN * b,
                    (a.image * p->out_blocks + 2 * unit) * c->y_block +
                        (uint64_t)((a.row + i) * p->s.out[1] + a.column) * b,
                    (uint64_t)(columns < WINOGRAD_OUT ? columns : WINOGRAD_OUT), width,
                    p->s.out_channels - 2 * unit * b);
}

/* Computes the tiles of a run that have strange inputs. */
static void compute_strange(const params *p, const scratch *s, const kernel_run *r, uint64_t first,
                            uint64_t count, uint64_t unit)
{
    const uint64_t b = p->block, width = unit_width(p, unit);
    conv_tile_call c = {.w = unit_weights(p, r->packed, unit),
                        .bias = (const float *)r->packed + 2 * unit * b,
                        .pixel = b,
                        .blocks = p->in_blocks,
                        .rows = 3,
                        .columns = 3,
                        .lanes = b,
                        .last_lanes = p->s.in_channels - (p->in_blocks - 1) * b,
                        .block_step = WINOGRAD_POINTS * b,
                        .row_step = WINOGRAD_IN * b,
                        .column_step = b,
                        .w_row_step = 3 * b * width * b,
                        .w_rows = 3,
                        .y_block = (uint64_t)(p->s.out[0] * p->s.out[1]) * b,
                        .activation = p->s.activation,
                        .parameter = {p->s.parameter[0], p->s.parameter[1]}};
    for (uint64_t i = 0; i < count; i++)
        if (has_strange(p, s, i))
            compute_directly(p, s, &c, r, conv_winograd_find(p, first + i), unit, width);
}

/* ---- Tiles ---------------------------------------------------------------------------------- */

static void transform_run(const params *p, const scratch *s, const float *x, uint64_t first,
                          uint64_t count)
{
    const winograd_transforms *t = transforms_of(p->level);
    const uint64_t b = p->block, plane = (uint64_t)(p->s.in[0] * p->s.in[1]) * b;
    const uint64_t v_step = p->in_blocks * p->run * b;
    for (uint64_t i = 0; i < count; i++) {
        const place a = conv_winograd_find(p, first + i);
        const int64_t row = a.row - p->s.pad[0], column = a.column - p->s.pad[1];
        const bool inside = row >= 0 && column >= 0 && row + WINOGRAD_IN <= p->s.in[0] &&
                            column + WINOGRAD_IN <= p->s.in[1];
        for (uint64_t block = 0; block < p->in_blocks; block++) {
            const float *from = x + (a.image * p->in_blocks + block) * plane;
            float *v = s->v + (block * p->run + i) * b;
            const float *patch = s->patches;
            size_t row_step = WINOGRAD_IN * b;
            if (inside) {
                patch = from + (row * p->s.in[1] + column) * (int64_t)b;
                row_step = (size_t)p->s.in[1] * b;
            } else {
                conv_winograd_copy_patch(s->patches, p, from, row, column);
            }
            s->strange[i * p->in_blocks + block] = !t->in(v, v_step, patch, row_step);
        }
    }
}

/* Multiplies all points of `channels` input channels, from `channel` on, by the transformed weights
 * `w`, for one or two blocks of output channels. Meanwhile brings the plain weights `next` near;
 * NULL: none. */
static void multiply_chunk(const params *p, const scratch *s, const float *w, uint64_t width,
                           uint64_t count, uint64_t channel, uint64_t channels, const char *next)
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
        c.w = w + point * chunk_step(p);
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

/* Multiplies all points by the weights of a unit. */
static void conv_winograd_multiply(const params *p, const scratch *s, const kernel_run *r,
                                   uint64_t unit, uint64_t count)
{
    const uint64_t each = chunk_channels(p), width = unit_width(p, unit);
    const float *w = unit_weights(p, r->packed, unit);
    if (is_shared(p)) {
        const float *shared = (const float *)r->workspace + unit * WINOGRAD_POINTS * chunk_step(p);
        multiply_chunk(p, s, shared, width, count, 0, p->s.in_channels, NULL);
        return;
    }
    for (uint64_t channel = 0; channel < p->s.in_channels; channel += each) {
        const uint64_t left = p->s.in_channels - channel, channels = left < each ? left : each;
        const float *next = w + (channel + channels) * width * p->block * 9;
        transform_chunk(s->w, p, w, width * p->block, channel, channels);
        multiply_chunk(p, s, s->w, width, count, channel, channels,
                       left < each ? NULL : (const char *)next);
    }
}

/* The phase that makes the weights which all units share. */
static void share_weights(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, p->out_units * p->in_blocks, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const uint64_t unit = i / p->in_blocks, channel = i % p->in_blocks * p->block;
        const uint64_t left = p->s.in_channels - channel, width = unit_width(p, unit) * p->block;
        float *all = (float *)r->workspace + unit * WINOGRAD_POINTS * chunk_step(p);
        transform_chunk(all + channel * width, p, unit_weights(p, r->packed, unit), width, channel,
                        left < p->block ? left : p->block);
    }
}

static void conv_winograd_store(const params *p, const scratch *s, const kernel_run *r,
                                uint64_t first, uint64_t count, uint64_t out_block)
{
    const winograd_transforms *t = transforms_of(p->level);
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
    }
}

static scratch divide_scratch(const params *p, void *memory)
{
    const uint64_t points = WINOGRAD_POINTS * p->block;
    float *w = (float *)memory + NOTE_FLOATS,
          *v = w + (is_shared(p) ? 0 : WINOGRAD_POINTS * chunk_step(p)),
          *m = v + points * p->run * p->in_blocks, *patches = m + points * p->run * 2;
    return (scratch){.transformed = memory,
                     .w = w,
                     .v = v,
                     .m = m,
                     .patches = patches,
                     .strange = (bool *)(patches + points * p->in_blocks)};
}

static void conv_winograd_run(const kernel_run *r)
{
    const params own = cut_finer(r->params, r->parts), *p = &own;
    const scratch s = divide_scratch(p, r->scratch);
    size_t from, to;
    if (is_shared(p) && r->phase == 0) {
        share_weights(r);
        return;
    }
    kernel_share(&from, &to, p->runs * p->out_units, r->part, r->parts);
    if (!r->resumed) *s.transformed = SIZE_MAX;
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const uint64_t index = i / p->out_units, unit = i % p->out_units;
        const uint64_t first = index * p->run;
        if (first >= p->tiles) break;
        const uint64_t count = p->tiles - first < p->run ? p->tiles - first : p->run;
        const uint64_t width = unit_width(p, unit);
        if (index != *s.transformed) transform_run(p, &s, r->tensors[0], first, count);
        *s.transformed = index;
        conv_winograd_multiply(p, &s, r, unit, count);
        for (uint64_t k = 0; k < width; k++)
            conv_winograd_store(p, &s, r, first, count, 2 * unit + k);
        compute_strange(p, &s, r, first, count, unit);
    }
}

#define ROW(suffix, level, flops_per_ns, transform_ns)                                             \
    {                                                                                              \
        .name = "conv_f32_winograd_" #suffix, .version = 5,                                        \
        .ops = "Conv com.microsoft:FusedConv pgy:FusedConv", .needs = level,                       \
        .rates = {flops_per_ns, transform_ns},                                                     \
        .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED, .accept = conv_winograd_accept,      \
        .prepare = conv_winograd_prepare, .run = conv_winograd_run, .extent = conv_winograd_extent \
    }
const kernel KERNELS_conv_winograd[] = {
    ROW(portable, CPU_PORTABLE, 10, 300),
    ROW(avx2, CPU_AVX2, 75, 45),
    ROW(avx512, CPU_AVX512, 90, 60),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution 3 x 3 with stride 1 by Winograd's F(4x4, 3x3): tiles of 6 x 6 inputs are transformed
 * to 36 points, multiplied by the transformed weights, and transformed back to 4 x 4 outputs. This
 * takes 2.25 multiplications for each output and channel instead of 9. A unit of work is a run of
 * tiles by two blocks of output channels. The transformed tiles of a run serve all output
 * channels. */
#include "kernels/conv_winograd.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/conv.h"
#include "kernels/conv_plan.h"
#include "kernels/conv_tile.h"
#include "kernels/extent.h"
#include "kernels/packing.h"

enum { FAST_BYTES = 512 * 1024, RUN_OF_LARGE = 56, MOST_PARTS = 256, NOTE_FLOATS = 16 };

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

/* Evaluates the polynomial of three weights at the points 0, 3/4, -3/4, 3/2, -3/2 and infinity, and
 * divides each value by the product of that point's differences to the other points. */
static void conv_winograd_transform_line(double *t, const double *g, size_t step)
{
    static const double A = 0.75, B = 1.5;
    static const double NONE = 1 / 1.265625, NEAR = 1 / -1.8984375, FAR = 1 / 7.59375;
    const double near = g[0] + A * A * g[2 * step], far = g[0] + B * B * g[2 * step];
    t[0] = g[0] * NONE;
    t[1] = (near + A * g[step]) * NEAR;
    t[2] = (near - A * g[step]) * NEAR;
    t[3] = (far + B * g[step]) * FAR;
    t[4] = (far - B * g[step]) * FAR;
    t[5] = g[2 * step];
}

/* Transforms 3 x 3 weights to 36 points, `step` floats apart. */
static void transform_weights(float *to, size_t step, const float *w)
{
    double g[9], half[3][6];
    for (int i = 0; i < 9; i++) g[i] = (double)w[i];
    for (size_t c = 0; c < 3; c++) conv_winograd_transform_line(half[c], g + c, 3);
    for (size_t r = 0; r < 6; r++) {
        const double line[3] = {half[0][r], half[1][r], half[2][r]};
        double t[6];
        conv_winograd_transform_line(t, line, 1);
        for (size_t c = 0; c < 6; c++) to[(r * 6 + c) * step] = (float)t[c];
    }
}

/* Packs one input channel for `width` output channels from `first`; points lie `step` floats apart
 * in `to`. A local buffer gathers them first, because with that step they may all map to one cache
 * set. */
static void conv_winograd_pack_channel(float *to, uint64_t step, const params *p, const float *w,
                                       uint64_t channel, uint64_t first, uint64_t width)
{
    float points[WINOGRAD_POINTS * 32] = {0};
    for (uint64_t o = 0; o < width && first + o < p->s.out_channels; o++)
        transform_weights(points + o, width, w + ((first + o) * p->s.in_channels + channel) * 9);
    for (uint64_t i = 0; i < WINOGRAD_POINTS; i++)
        memcpy(to + i * step, points + i * width, width * sizeof *to);
}

/* Packs the biases, then the weights as [two output blocks][point][input channel][output channel].
 */
static bool conv_winograd_fill(void *packed, const kernel_problem *u, const void *user)
{
    const params *p = user;
    const float *w = u->inputs[1].data, *bias = p->s.has_bias ? u->inputs[2].data : NULL;
    float *to = packed;
    const uint64_t padded = p->out_blocks * p->block, in = p->s.in_channels;
    for (uint64_t o = 0; o < padded; o++) *to++ = bias && o < p->s.out_channels ? bias[o] : 0;
    for (uint64_t first = 0; first < padded; first += 2 * p->block) {
        const uint64_t width = padded - first < 2 * p->block ? p->block : 2 * p->block;
        for (uint64_t c = 0; c < in; c++)
            conv_winograd_pack_channel(to + c * width, in * width, p, w, c, first, width);
        to += WINOGRAD_POINTS * in * width;
    }
    return true;
}

static pgy_status conv_winograd_pack(kernel_plan *out, const params *p, const kernel_problem *u,
                                     pgy_error *err)
{
    const uint64_t padded = p->out_blocks * p->block;
    const kernel_packing how = {.form = "conv_winograd",
                                .numbers = {p->block, p->s.in_channels, p->s.out_channels},
                                .inputs = p->s.has_bias ? 6 : 2,
                                .size_bytes = padded * (1 + WINOGRAD_POINTS * p->s.in_channels) *
                                              sizeof(float),
                                .fill = conv_winograd_fill,
                                .user = p};
    out->packed_inputs = how.inputs;
    return kernel_pack(out, u, &how, err);
}

/* Bytes of the buffers in `struct scratch`. */
static uint64_t scratch_bytes(const params *p)
{
    const uint64_t points = extent_add(extent_mul(p->run, p->in_blocks + 2), 1);
    const uint64_t numbers =
        extent_add(extent_mul(points, WINOGRAD_POINTS), WINOGRAD_OUT * WINOGRAD_OUT);
    return extent_add(extent_add(extent_mul(numbers, p->block * sizeof(float)),
                                 extent_mul(p->run, p->in_blocks * sizeof(bool))),
                      NOTE_FLOATS * sizeof(float));
}

static pgy_status conv_winograd_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)conv_winograd_describe(p, u, u->self->needs); /* cannot fail after `accept` */
    const params finest = cut_finer(p, MOST_PARTS);
    const uint64_t units = finest.runs * p->out_units;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = (uint32_t)(units < MOST_PARTS ? units : MOST_PARTS);
    out->scratch_bytes = scratch_bytes(p);
    const pgy_status st = conv_winograd_pack(out, p, u, err);
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
    e->packed = extent_mul3(padded, 1 + WINOGRAD_POINTS * s->in_channels, sizeof(float));
    e->scratch = scratch_bytes(p);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Scratch memory of a thread: v: transformed inputs [36][in_blocks][run][block]; m: products
 * [36][2][run][block]; patch: one tile with its padding [6][6][block]. */
typedef struct scratch {
    size_t *transformed; /* the run whose tiles are in v */
    float *v, *m, *patch;
    float *apart;  /* [4][4][block]: terms to add to the outputs of one tile */
    bool *strange; /* [run][in_blocks]: this tile and input block has strange inputs, see LARGEST */
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
 * not. So strange inputs (Inf, NaN and numbers beyond LARGEST) are replaced by 0 before the
 * transform, and their products are added directly to the outputs that they reach. */

static const float LARGEST = 1e30f;

static bool is_strange(float x)
{
    return !(fabsf(x) <= LARGEST);
}

static void transform_rest(const params *p, const scratch *s, float *v, uint64_t v_step,
                           const float *from, int64_t row, int64_t column)
{
    conv_winograd_copy_patch(s->patch, p, from, row, column);
    for (uint64_t i = 0; i < WINOGRAD_POINTS * p->block; i++)
        if (is_strange(s->patch[i])) s->patch[i] = 0;
    (void)transforms_of(p->level)->in(v, v_step, s->patch, WINOGRAD_IN * p->block);
}

/* Recovers a weight from its transformed points, `step` floats apart. A tiny result is a rounding
 * error and becomes 0, so that a weight of 0 gives exactly 0. */
static float weight_at(const float *w, uint64_t step, int64_t row, int64_t column)
{
    static const struct {
        int count, line[2];
        double factor[2];
    } TAPS[3] = {{1, {0}, {1.265625}}, {2, {1, 2}, {-1.265625, 1.265625}}, {1, {5}, {1}}};
    double sum = 0, size = 0;
    for (int r = 0; r < TAPS[row].count; r++)
        for (int c = 0; c < TAPS[column].count; c++) {
            const int point = TAPS[row].line[r] * WINOGRAD_IN + TAPS[column].line[c];
            const double term =
                TAPS[row].factor[r] * TAPS[column].factor[c] * (double)w[(uint64_t)point * step];
            sum += term;
            size += fabs(term);
        }
    return fabs(sum) <= 1e-6 * size ? 0 : (float)sum;
}

/* Adds the products of one input element to `apart`. w: transformed weights of its channel for a
 * block of output channels, of which `lanes` exist. */
static void add_pixel(const params *p, float *apart, float x, int64_t row, int64_t column,
                      const float *w, uint64_t step, uint64_t lanes)
{
    for (int64_t r = 0; r < WINOGRAD_OUT; r++)
        for (int64_t c = 0; c < WINOGRAD_OUT; c++) {
            if (row < r || row > r + 2 || column < c || column > c + 2) continue;
            float *to = apart + (uint64_t)(r * WINOGRAD_OUT + c) * p->block;
            for (uint64_t o = 0; o < lanes; o++)
                to[o] += x * weight_at(w + o, step, row - r, column - c);
        }
}

/* Adds the products of the strange inputs of tile i to s->apart. w: transformed weights for one
 * block of output channels. */
static void add_strange(const params *p, const scratch *s, const float *x, place a, uint64_t i,
                        const float *w, uint64_t width, uint64_t lanes)
{
    const uint64_t b = p->block, plane = (uint64_t)(p->s.in[0] * p->s.in[1]) * b;
    for (uint64_t block = 0; block < p->in_blocks; block++) {
        if (!s->strange[i * p->in_blocks + block]) continue;
        conv_winograd_copy_patch(s->patch, p, x + (a.image * p->in_blocks + block) * plane,
                                 a.row - p->s.pad[0], a.column - p->s.pad[1]);
        for (uint64_t k = 0; k < WINOGRAD_POINTS * b; k++) {
            const uint64_t channel = block * b + k % b, pixel = k / b;
            if (!is_strange(s->patch[k]) || channel >= p->s.in_channels) continue;
            add_pixel(p, s->apart, s->patch[k], (int64_t)(pixel / WINOGRAD_IN),
                      (int64_t)(pixel % WINOGRAD_IN), w + channel * width * b,
                      p->s.in_channels * width * b, lanes);
        }
    }
}

static bool has_strange(const params *p, const scratch *s, uint64_t i)
{
    return memchr(s->strange + i * p->in_blocks, true, p->in_blocks) != NULL;
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
            const float *patch = s->patch;
            size_t row_step = WINOGRAD_IN * b;
            if (inside) {
                patch = from + (row * p->s.in[1] + column) * (int64_t)b;
                row_step = (size_t)p->s.in[1] * b;
            } else {
                conv_winograd_copy_patch(s->patch, p, from, row, column);
            }
            bool *strange = &s->strange[i * p->in_blocks + block];
            *strange = !t->in(v, v_step, patch, row_step);
            if (*strange) transform_rest(p, s, v, v_step, from, row, column);
        }
    }
}

/* Multiplies all points by the weights of one or two blocks of output channels. */
static void conv_winograd_multiply(const params *p, const scratch *s, const float *w,
                                   uint64_t width, uint64_t count)
{
    static const float ZEROS[32] = {0};
    const conv_tiles *t = conv_tiles_of(p->level);
    const uint64_t b = p->block, cuts = (count + t->pixels - 1) / t->pixels;
    conv_tile_call c = {.bias = ZEROS,
                        .pixel = b,
                        .blocks = p->in_blocks,
                        .rows = 1,
                        .columns = 1,
                        .lanes = b,
                        .last_lanes = p->s.in_channels - (p->in_blocks - 1) * b,
                        .block_step = p->run * b,
                        .w_row_step = b * width * b,
                        .w_rows = 1,
                        .y_block = p->run * b};
    for (uint64_t point = 0; point < WINOGRAD_POINTS; point++) {
        c.w = w + point * p->s.in_channels * width * b;
        for (uint64_t i = 0; i < cuts; i++) {
            const uint64_t from = i * count / cuts, to = (i + 1) * count / cuts;
            c.x = s->v + (point * p->in_blocks * p->run + from) * b;
            c.y = s->m + (point * 2 * p->run + from) * b;
            conv_tile_fetch(&c, p->s.in_channels * width * b, width * b, i, cuts);
            t->run[width][to - from](&c);
        }
    }
}

/* For a tile with strange inputs, e->sum is replaced by a buffer that holds sum plus their
 * products. */
static void sum_apart(winograd_end *e, const params *p, const scratch *s, const float *x, place a,
                      uint64_t i, const float *w, uint64_t width, uint64_t lanes)
{
    const uint64_t row = WINOGRAD_OUT * p->block;
    memset(s->apart, 0, WINOGRAD_OUT * row * sizeof *s->apart);
    for (size_t r = 0; e->sum && r < e->rows; r++)
        memcpy(s->apart + r * row, e->sum + r * e->sum_step,
               e->columns * p->block * sizeof *s->apart);
    add_strange(p, s, x, a, i, w, width, lanes);
    e->sum = s->apart;
    e->sum_step = row;
}

/* w: weights of the unit that contains out_block, `blocks` blocks wide. */
static void conv_winograd_store(const params *p, const scratch *s, const kernel_run *r,
                                uint64_t first, uint64_t count, uint64_t out_block, const float *w,
                                uint64_t blocks)
{
    const winograd_transforms *t = transforms_of(p->level);
    const uint64_t b = p->block, width = (uint64_t)p->s.out[1];
    const uint64_t plane = (uint64_t)p->s.out[0] * width * b;
    const uint64_t left = p->s.out_channels - out_block * b, lanes = left < b ? left : b;
    winograd_end e = {.bias = (const float *)r->packed + out_block * b,
                      .row_step = width * b,
                      .activation = p->s.activation,
                      .parameter = {p->s.parameter[0], p->s.parameter[1]}};
    for (uint64_t i = 0; i < count; i++) {
        const place a = conv_winograd_find(p, first + i);
        const int64_t rows = p->s.out[0] - a.row, columns = p->s.out[1] - a.column;
        const uint64_t at = (a.image * p->out_blocks + out_block) * plane +
                            ((uint64_t)a.row * width + (uint64_t)a.column) * b;
        e.rows = (size_t)(rows < WINOGRAD_OUT ? rows : WINOGRAD_OUT);
        e.columns = (size_t)(columns < WINOGRAD_OUT ? columns : WINOGRAD_OUT);
        e.y = (float *)r->tensors[p->s.inputs] + at;
        e.sum = p->s.has_sum ? (const float *)r->tensors[3] + at : NULL;
        e.sum_step = e.row_step;
        if (has_strange(p, s, i))
            sum_apart(&e, p, s, r->tensors[0], a, i, w + out_block % 2 * b, blocks, lanes);
        t->out(&e, s->m + (out_block % 2 * p->run + i) * b, 2 * p->run * b);
    }
}

static scratch divide_scratch(const params *p, void *memory)
{
    const uint64_t b = p->block, points = WINOGRAD_POINTS * b;
    float *v = (float *)memory + NOTE_FLOATS,
          *apart = v + points * (p->run * (p->in_blocks + 2) + 1);
    return (scratch){.transformed = memory,
                     .v = v,
                     .m = v + points * p->run * p->in_blocks,
                     .patch = v + points * p->run * (p->in_blocks + 2),
                     .apart = apart,
                     .strange = (bool *)(apart + WINOGRAD_OUT * WINOGRAD_OUT * b)};
}

static void conv_winograd_run(const kernel_run *r)
{
    const params own = cut_finer(r->params, r->parts), *p = &own;
    const uint64_t b = p->block, padded = p->out_blocks * b;
    const scratch s = divide_scratch(p, r->scratch);
    size_t from, to;
    kernel_share(&from, &to, p->runs * p->out_units, r->part, r->parts);
    if (!r->resumed) *s.transformed = SIZE_MAX;
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const uint64_t index = i / p->out_units, unit = i % p->out_units;
        const uint64_t first = index * p->run;
        if (first >= p->tiles) break;
        const uint64_t count = p->tiles - first < p->run ? p->tiles - first : p->run;
        const uint64_t width = p->out_blocks - 2 * unit < 2 ? 1 : 2;
        if (index != *s.transformed) transform_run(p, &s, r->tensors[0], first, count);
        *s.transformed = index;
        const float *w =
            (const float *)r->packed + padded + unit * 2 * b * WINOGRAD_POINTS * p->s.in_channels;
        conv_winograd_multiply(p, &s, w, width, count);
        for (uint64_t k = 0; k < width; k++)
            conv_winograd_store(p, &s, r, first, count, 2 * unit + k, w, width);
    }
}

#define ROW(suffix, level, flops_per_ns, transform_ns)                                             \
    {                                                                                              \
        .name = "conv_f32_winograd_" #suffix, .version = 3,                                        \
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Direct convolution: dividing the work and packing the weights. Where taps reach over the left or
 * right edge, a band of the input is first copied with zeros on both sides. Kernel rows above or
 * below the input are skipped. */
#include "kernels/conv_plan.h"

#include <string.h>

#include "base/alloc.h"

/* PARTS_OF_A_THREAD: about so many, of three or four, are one thread's share of a step */
enum { BAND_BYTES = 256 * 1024, PARTS_OF_A_THREAD = 3, MOST_PARTS_OF_A_THREAD = 4 };

const conv_tiles *conv_tiles_of(uint32_t level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &conv_tiles_avx512;
    if (level >= CPU_AVX2) return &conv_tiles_avx2;
#endif
    (void)level;
    return &conv_tiles_portable;
}

/* A pointwise convolution treats all pixels alike, so one long row gives fuller tiles. */
static void join_rows(conv_shape *s)
{
    for (int d = 0; d < 2; d++)
        if (s->kernel[d] != 1 || s->stride[d] != 1 || s->pad[d] || s->in[d] != s->out[d]) return;
    s->in[1] = s->out[1] = s->in[0] * s->in[1];
    s->in[0] = s->out[0] = 1;
}

static bool reaches_over(const conv_shape *s)
{
    return s->pad[1] ||
           (s->out[1] - 1) * s->stride[1] + (s->kernel[1] - 1) * s->dilation[1] - s->pad[1] >=
               s->in[1];
}

/* A copied band has whole rows, or, of an image of one row, a window of it. */
static void size_band(conv_plan *p, uint64_t tiles)
{
    const conv_shape *s = &p->s;
    const uint64_t rows = (tiles + p->row_tiles - 1) / p->row_tiles, out = (uint64_t)s->out[1];
    const uint64_t pixels =
        s->out[0] > 1 ? out : (tiles * out + p->row_tiles - 1) / p->row_tiles;
    p->band_tiles = tiles;
    p->band_rows =
        (rows - 1) * (uint64_t)s->stride[0] + (uint64_t)((s->kernel[0] - 1) * s->dilation[0]) + 1;
    p->width = (pixels - 1) * (uint64_t)s->stride[1] +
               (uint64_t)((s->kernel[1] - 1) * s->dilation[1]) + 1;
}

uint64_t conv_plan_grain(const conv_plan *p)
{
    return p->s.out[0] > 1 ? p->row_tiles : 1;
}

uint64_t conv_plan_band_start(const conv_plan *p, uint64_t band)
{
    const uint64_t grain = conv_plan_grain(p);
    return p->tiles / grain * band / p->bands * grain;
}

static void cut_bands(conv_plan *p)
{
    const conv_shape *s = &p->s;
    const uint64_t rows = (uint64_t)s->out[0], grain = conv_plan_grain(p);
    const uint64_t channels = p->linear ? p->in_blocks : p->in_blocks * p->block;
    const uint64_t row_bytes =
        channels * (uint64_t)(s->stride[0] * s->stride[1] * s->out[1]) * sizeof(float);
    p->tiles = rows * p->row_tiles;
    uint64_t tiles = BAND_BYTES * p->row_tiles / (row_bytes + 1) + 1;
    if (tiles < 4) tiles = 4;
    tiles = (tiles + grain - 1) / grain * grain;
    if (tiles > p->tiles) tiles = p->tiles;
    p->bands = (p->tiles + tiles - 1) / tiles;
    size_band(p, tiles);
}

conv_plan conv_plan_cut(const conv_plan *p, uint32_t parts)
{
    conv_plan own = *p;
    const uint64_t others = p->s.batch * p->s.groups * p->out_units;
    const uint64_t threads = parts / MOST_PARTS_OF_A_THREAD;
    uint64_t bands = (parts + others - 1) / others;
    /* A copied band of one row would copy three rows for it, of three by three taps. That is still
     * less than what threads without a band lose. */
    const uint64_t pairs = p->tiles / (2 * p->row_tiles) * others;
    const uint64_t rows = p->copied && pairs >= parts / PARTS_OF_A_THREAD ? 2 : 1;
    const uint64_t least = rows * conv_plan_grain(p), most = p->tiles / least;
    if (bands < p->bands) bands = p->bands;
    /* Two threads that share a copied band would both copy it. */
    if (p->copied && threads > 1 && bands > threads)
        bands = (bands + threads - 1) / threads * threads;
    if (bands > most) bands = most;
    if (bands > p->bands) own.bands = bands;
    const uint64_t grain = conv_plan_grain(p), grains = p->tiles / grain;
    size_band(&own, (grains + own.bands - 1) / own.bands * grain);
    return own;
}

static uint64_t packed_lanes(const conv_plan *p)
{
    return (p->in_blocks - 1) * p->lanes + p->last_lanes;
}

void conv_plan_make(conv_plan *p, const conv_shape *s, cpu_level level, kernel_layout x_layout)
{
    const conv_tiles *t = conv_tiles_of(level);
    const uint64_t in = s->in_channels / s->groups, out = s->out_channels / s->groups;
    *p = (conv_plan){.s = *s, .level = level, .linear = x_layout == KERNEL_LINEAR};
    join_rows(&p->s);
    s = &p->s;
    p->block = t->block;
    p->out_blocks = conv_blocks(out, t->block);
    p->out_units = (p->out_blocks + 1) / 2;
    p->columns = p->linear ? 1 : (uint64_t)s->kernel[1];
    p->in_blocks = p->linear ? in : conv_blocks(in, t->block);
    p->lanes = p->linear ? (uint64_t)s->kernel[1] : t->block;
    p->last_lanes = p->linear ? p->lanes : in - (p->in_blocks - 1) * t->block;
    p->copied = reaches_over(s);
    p->row_tiles = ((uint64_t)s->out[1] + t->pixels - 1) / t->pixels;
    p->packed_bias = s->groups * p->out_blocks * p->block;
    cut_bands(p);
}

size_t conv_plan_grains(const conv_plan *p)
{
    return p->s.batch * p->s.groups * p->out_units * (p->tiles / conv_plan_grain(p));
}

size_t conv_plan_scratch(const conv_plan *p)
{
    if (!p->copied) return 0;
    return CONV_PLAN_NOTE + p->in_blocks * p->band_rows * p->width * (p->linear ? 1 : p->block);
}

/* All other members follow from the shape and the level: recompute and compare them. */
bool conv_plan_extent(kernel_extent *e, const kernel_claim *q, const conv_plan *p)
{
    const conv_shape *s = &p->s;
    conv_plan own;
    if (!extent_level(e, p->level) || !conv_extent(e, q, s)) return false;
    if (p->linear > 1 || (p->linear && (s->groups > 1 || s->dilation[1] != 1)))
        return extent_refuse(e, "layout");
    const uint64_t pixels = extent_mul((uint64_t)s->in[0], (uint64_t)s->in[1]);
    if (pixels > INT32_MAX) return extent_refuse(e, "sizes"); /* rows may be joined */
    conv_plan_make(&own, s, (cpu_level)p->level, p->linear ? KERNEL_LINEAR : KERNEL_BLOCKED_16);
    if (memcmp(&own, p, sizeof own)) return extent_refuse(e, "blocks");
    const uint64_t groups = extent_mul(s->batch, s->groups);
    const uint64_t x = extent_mul3(groups, p->in_blocks, p->linear ? 1 : p->block);
    const uint64_t out = extent_mul(p->out_blocks, p->block);
    const uint64_t y = extent_mul3(groups, out, (uint64_t)(s->out[0] * s->out[1]));
    const uint64_t each = extent_mul3(packed_lanes(p), (uint64_t)s->kernel[0], p->columns);
    conv_extent_tensors(e, s, extent_mul(x, pixels), y);
    e->packed = extent_mul(extent_mul3(s->groups, out, extent_add(each, 1)), sizeof(float));
    if (p->copied)
        e->scratch = extent_add(extent_mul3(extent_mul3(p->in_blocks, p->band_rows, p->width),
                                            p->linear ? 1 : p->block, sizeof(float)),
                                CONV_PLAN_NOTE * sizeof(float));
    return true;
}

/* ---- Packing -------------------------------------------------------------------------------- */

/* Packs the weights of output channels [first, first + width) in the order in which tiles read
 * taps. */
static float *pack_unit(float *to, const conv_plan *p, const float *w, uint64_t first,
                        uint64_t width)
{
    const conv_shape *s = &p->s;
    const uint64_t in = s->in_channels / s->groups, out = s->out_channels / s->groups;
    const uint64_t area = (uint64_t)(s->kernel[0] * s->kernel[1]);
    const uint64_t taps = p->linear ? 1 : area, rest = p->linear ? area : 1;
    for (uint64_t b = 0; b < p->in_blocks; b++) {
        const uint64_t lanes = p->linear ? 1 : b + 1 == p->in_blocks ? p->last_lanes : p->lanes;
        for (uint64_t tap = 0; tap < taps; tap++)
            for (uint64_t lane = 0; lane < lanes * rest; lane++, to += width) {
                const uint64_t channel = p->linear ? b : b * p->lanes + lane;
                const uint64_t at = channel * area + (p->linear ? lane : tap);
                for (uint64_t o = 0; o < width; o++)
                    to[o] = first + o < out ? w[(first + o) * in * area + at] : 0;
            }
    }
    return to;
}

size_t conv_plan_packed_floats(const conv_plan *p)
{
    const uint64_t each = packed_lanes(p) * (uint64_t)p->s.kernel[0] * p->columns;
    return p->packed_bias + p->s.groups * p->out_blocks * p->block * each;
}

void conv_plan_fill(float *to, const conv_plan *p, const float *w, const float *bias)
{
    const conv_shape *s = &p->s;
    const uint64_t channels = s->out_channels / s->groups, padded = p->out_blocks * p->block;
    const uint64_t area = (uint64_t)(s->kernel[0] * s->kernel[1]);
    for (uint64_t g = 0; g < s->groups; g++)
        for (uint64_t o = 0; o < padded; o++)
            *to++ = bias && o < channels ? bias[g * channels + o] : 0;
    for (uint64_t g = 0; g < s->groups; g++)
        for (uint64_t o = 0; o < padded; o += 2 * p->block)
            to = pack_unit(to, p, w + g * channels * (s->in_channels / s->groups) * area, o,
                           padded - o < 2 * p->block ? p->block : 2 * p->block);
}

static bool fill(void *packed, const kernel_problem *u, const void *user)
{
    const conv_plan *p = user;
    conv_plan_fill(packed, p, u->inputs[1].data, p->s.has_bias ? u->inputs[2].data : NULL);
    return true;
}

pgy_status conv_plan_pack(kernel_plan *out, const conv_plan *p, const kernel_problem *u,
                          pgy_error *err)
{
    const conv_shape *s = &p->s;
    const kernel_packing how = {.form = "conv",
                                .numbers = {p->block, p->linear, s->groups, s->in_channels,
                                            s->out_channels, (uint64_t)s->kernel[0],
                                            (uint64_t)s->kernel[1], p->lanes, p->last_lanes,
                                            p->in_blocks, p->columns},
                                .inputs = s->has_bias ? 6 : 2,
                                .size_bytes = conv_plan_packed_floats(p) * sizeof(float),
                                .fill = fill,
                                .user = p};
    out->packed_inputs = how.inputs;
    return kernel_pack(out, u, &how, err);
}

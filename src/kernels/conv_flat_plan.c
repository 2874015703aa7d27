/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution over flat positions: dividing the work. */
#include "kernels/conv_flat.h"

/* Floats of a band's input that stay in the first-level cache, for one block of output channels,
 * and in the second-level cache, for several. */
enum { NEAR_FLOATS = 6 << 10, FAR_FLOATS = 64 << 10, LEAST_LINE = 256, MOST_FLOATS = 1 << 26 };

const conv_flat_loops *conv_flat_loops_of(uint32_t level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &conv_flat_avx512;
    if (level >= CPU_AVX2) return &conv_flat_avx2;
#endif
    (void)level;
    return &conv_flat_portable;
}

static uint32_t most_log(const conv_flat *p)
{
    return conv_flat_loops_of(p->level)->widths[3] ? 3 : 2;
}

void conv_flat_block(const conv_flat *p, uint64_t i, uint64_t *first, uint32_t *log)
{
    *log = most_log(p);
    const uint64_t full = p->out >> *log;
    *first = (i < full ? i : full) << *log;
    if (i < full) return;
    for (uint64_t left = i - full;; *first += 1u << *log) {
        while (*log && *first + (1u << *log) > p->out) --*log;
        if (!left--) return;
    }
}

static uint64_t block_count(const conv_flat *p)
{
    const uint32_t log = most_log(p);
    return (p->out >> log) + (uint64_t)__builtin_popcountll(p->out & ((1u << log) - 1));
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Taps k and k + period of an axis read the same rows of the stride. */
static int64_t slot_period(const conv_flat *p, int axis)
{
    return p->stride[axis] / common_divisor(p->stride[axis], p->dilation[axis]);
}

void conv_flat_tap(const conv_flat *p, int axis, int64_t k, uint64_t *slot, uint64_t *index)
{
    *slot = (uint64_t)(k % slot_period(p, axis));
    *index = (uint64_t)(k * p->dilation[axis] / p->stride[axis]);
}

static uint64_t reach_of(const conv_flat *p, int axis)
{
    return (uint64_t)((p->kernel[axis] - 1) * p->dilation[axis] / p->stride[axis]);
}

/* Rows share their padding, the right one of a row being the left one of the next, if no slots or
 * cuts divide them. */
static uint64_t pitch_of(const conv_flat *p, uint64_t band)
{
    const uint64_t whole = band + reach_of(p, 2), out = (uint64_t)p->to[2];
    const uint64_t pad = (uint64_t)p->pad[2], filled = pad + (uint64_t)p->from[2];
    if (p->stride[2] > 1 || band < out || filled >= whole || whole - filled > pad || filled < out)
        return whole;
    return filled;
}

static uint64_t floats_for(conv_flat_geometry *g, const conv_flat *p)
{
    for (int d = 0; d < 2; d++) g->rows[d] = g->band[d] + reach_of(p, d);
    g->pitch = pitch_of(p, g->band[2]);
    g->slot_floats = __builtin_mul_overflow(g->rows[0] * g->pitch, g->rows[1], &g->slot_floats)
                         ? UINT64_MAX
                         : g->slot_floats;
    if (g->slot_floats > MOST_FLOATS) return UINT64_MAX;
    g->channel_floats = g->slots[0] * g->slots[1] * g->slots[2] * g->slot_floats;
    if (g->channel_floats > MOST_FLOATS) return UINT64_MAX;
    return p->in * g->channel_floats;
}

/* Makes bands along an axis as long as the limit allows, and of equal length. */
static void cut_axis(conv_flat_geometry *g, const conv_flat *p, int axis, uint64_t least,
                     uint64_t limit)
{
    const uint64_t size = (uint64_t)p->to[axis];
    g->band[axis] = size;
    const uint64_t whole = floats_for(g, p);
    if (whole > limit) {
        g->band[axis] = 1;
        const uint64_t base = floats_for(g, p);
        g->band[axis] = 2;
        const uint64_t step = floats_for(g, p) - base;
        uint64_t most = base < limit && step ? (limit - base) / step + 1 : 1;
        if (most < least) most = least;
        if (most > size) most = size;
        const uint64_t bands = (size + most - 1) / most;
        g->band[axis] = (size + bands - 1) / bands;
    }
}

bool conv_flat_divide(conv_flat_geometry *g, const conv_flat *p)
{
    const uint64_t lanes = conv_flat_loops_of(p->level)->lanes;
    *g = (conv_flat_geometry){.jobs = p->batch * p->groups, .blocks = block_count(p)};
    g->taps = p->in * (uint64_t)(p->kernel[0] * p->kernel[1] * p->kernel[2]);
    const uint64_t limit = g->blocks > 1 ? FAR_FLOATS : NEAR_FLOATS;
    for (int d = 0; d < CONV_FLAT_AXES; d++) {
        const int64_t period = slot_period(p, d);
        g->slots[d] = (uint64_t)(p->kernel[d] < period ? p->kernel[d] : period);
        g->band[d] = 1;
    }
    const uint64_t halo = reach_of(p, 2);
    cut_axis(g, p, 2, halo > LEAST_LINE ? halo : LEAST_LINE, limit);
    if (g->band[2] == (uint64_t)p->to[2]) cut_axis(g, p, 1, reach_of(p, 1) / 2 + 1, limit);
    if (g->band[2] == (uint64_t)p->to[2] && g->band[1] == (uint64_t)p->to[1])
        cut_axis(g, p, 0, reach_of(p, 0) / 2 + 1, limit);
    for (int d = 0; d < CONV_FLAT_AXES; d++)
        g->bands[d] = ((uint64_t)p->to[d] + g->band[d] - 1) / g->band[d];
    const uint64_t floats = floats_for(g, p);
    if (floats > MOST_FLOATS || g->taps > MOST_FLOATS) return false;
    g->vectors = g->slot_floats / lanes + 1;
    g->slack = g->pitch + 3 * lanes;
    g->scratch_bytes = 64 + (floats + g->slack) * sizeof(float) +
                       (g->taps + 1) / 2 * 2 * sizeof(int32_t) +
                       g->vectors * sizeof(conv_flat_vector);
    return true;
}

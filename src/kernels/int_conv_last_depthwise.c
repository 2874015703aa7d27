/* SPDX-License-Identifier: Apache-2.0 */
/* QLinearConv of com.microsoft and pgy with attribute channels_last and one channel per group. */
#include "kernels/int_conv_last_depthwise.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/int_problem.h"

static void last_depthwise_plan(last_depthwise *p, cpu_level level)
{
    int_conv *c = &p->c;
    const uint64_t channels = c->groups;
    c->level = level;
    p->blocked = level >= CPU_AVX512;
    p->fours = (c->taps + 3) / 4;
    for (size_t d = 0; d < INT_CONV_AXES; d++) {
        p->w.size[d] = c->size[d];
        p->w.out[d] = c->out_size[d];
        p->w.kernel[d] = c->kernel[d];
        p->w.stride[d] = c->stride[d];
        p->w.dilation[d] = c->dilation[d];
        p->w.pad[d] = c->pad[d];
    }
    p->w.pixel = channels;
    const uint64_t filled =
        (channels + LAST_DEPTHWISE_BLOCK - 1) / LAST_DEPTHWISE_BLOCK * LAST_DEPTHWISE_BLOCK;
    p->weights = p->fours * 4 * filled;
    c->at_sums = p->weights;
    c->at_bias = c->at_sums + filled * sizeof(int32_t);
    c->at_factors = c->at_bias + filled * sizeof(int32_t);
    c->at_scales = c->at_factors + filled * sizeof(float);
}

static uint64_t filled_channels(const last_depthwise *p)
{
    return p->weights / (p->fours * 4);
}

/* The workspace: offsets of the channels in the order of the sums, then a pixel of the padding. */
static uint64_t workspace_bytes(const last_depthwise *p)
{
    return filled_channels(p) * (sizeof(int32_t) + 1);
}

static uint64_t scratch_bytes(void)
{
    return INT_MAX_COLUMNS * sizeof(int32_t);
}

static bool last_depthwise_describe(last_depthwise *p, const kernel_problem *u)
{
    int_conv *c = &p->c;
    *p = (last_depthwise){{0}};
    if (!int_conv_describe(c, u) || !c->last || c->kind != INT_CONV_TO_BYTES || c->in != 1 ||
        c->out != 1 || c->w_has_zero || c->taps > LAST_DEPTHWISE_TAPS)
        return false;
    last_depthwise_plan(p, u->self->needs);
    return true;
}

static bool int_conv_last_depthwise_accept(kernel_problem *u, double *cost_ns)
{
    const double products_per_ns = u->self->rates[0];
    last_depthwise p;
    if (!last_depthwise_describe(&p, u)) return false;
    int_problem_linear(u);
    const double y = (double)kernel_count(&u->outputs[0]);
    *cost_ns = 300 + y * (double)(p.fours * 4) / products_per_ns + y * 0.05;
    return true;
}

/* Where the numbers of a channel are, in the order of the sums. */
static size_t place_of(const last_depthwise *p, size_t channel)
{
    if (!p->blocked) return channel;
    const size_t at = channel % 64;
    return channel - at + at % 16 / 4 * 16 + at / 16 * 4 + at % 4;
}

static pgy_status last_depthwise_pack(kernel_plan *out, const last_depthwise *p,
                                      const kernel_problem *u, pgy_error *err)
{
    const int_conv *c = &p->c;
    const size_t channels = c->groups, taps = c->taps;
    const int shift = u->inputs[3].dtype == PGY_U8 ? 128 : 0;
    out->packed_bytes = c->at_scales + filled_channels(p) * sizeof(double);
    uint8_t *packed = mem_alloc_aligned(64, out->packed_bytes);
    if (!packed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for packed weights");
    memset(packed, 0, out->packed_bytes);
    for (size_t i = 0; i < channels; i++) {
        const uint8_t *w = (const uint8_t *)u->inputs[3].data + i * taps;
        const size_t place = place_of(p, i);
        int32_t sum = 0;
        for (size_t t = 0; t < taps; t++) {
            const int8_t v = (int8_t)(w[t] - shift);
            const size_t at = p->blocked
                                  ? (place / 64 * p->fours + t / 4) * 256 + place % 64 * 4 + t % 4
                                  : t * channels + i;
            packed[at] = (uint8_t)v;
            sum += v;
        }
        const double scale =
            int_problem_float(u, 1, 0) * int_problem_float(u, 4, i) / int_problem_float(u, 6, 0);
        ((int32_t *)(packed + c->at_sums))[place] = sum;
        ((int32_t *)(packed + c->at_bias))[place] = (int32_t)int_problem_int(u, 8, i);
        ((float *)(packed + c->at_factors))[place] = (float)scale;
        ((double *)(packed + c->at_scales))[i] = scale;
    }
    out->packed = packed;
    out->packed_inputs = UINT32_C(1) << 3;
    return PGY_OK;
}

static pgy_status int_conv_last_depthwise_prepare(kernel_plan *out, const kernel_problem *u,
                                                  pgy_error *err)
{
    last_depthwise *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)last_depthwise_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 2, .in_place = -1};
    const uint64_t lines = p->c.batch * (uint64_t)(p->c.out_size[0] * p->c.out_size[1]);
    out->parts = (uint32_t)(lines < 256 ? lines : 256);
    out->workspace_bytes = workspace_bytes(p);
    out->scratch_bytes = scratch_bytes();
    const pgy_status st = last_depthwise_pack(out, p, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static bool int_conv_last_depthwise_extent(kernel_extent *e, const kernel_claim *q)
{
    const last_depthwise *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->c.level)) return false;
    const int_conv *c = &p->c;
    last_depthwise own;
    if (c->inputs != q->input_count || c->x_zero_input >= c->inputs)
        return extent_refuse(e, "numbers of operands");
    if (!int_conv_has_valid_sizes(c) || c->in != 1 || c->out != 1 || c->taps > LAST_DEPTHWISE_TAPS)
        return extent_refuse(e, "shape");
    if (!int_finish_is_valid(&c->finish)) return extent_refuse(e, "zero points");
    memcpy(&own, p, sizeof own);
    last_depthwise_plan(&own, (cpu_level)c->level);
    if (memcmp(&own, p, sizeof own)) return extent_refuse(e, "places of taps and weights");
    extent_tensor(e, 0, c->batch * int_conv_in_plane(c), c->groups);
    if (c->x_zero_input) extent_tensor(e, c->x_zero_input, 1, 1);
    extent_tensor(e, c->inputs, c->batch * int_conv_out_plane(c), c->groups);
    e->packed = c->at_scales + filled_channels(p) * sizeof(double);
    e->workspace = workspace_bytes(p);
    e->scratch = scratch_bytes();
    e->phases = 2;
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static void last_depthwise_begin(const last_depthwise *p, const kernel_run *r)
{
    const char *packed = r->packed;
    const size_t filled = filled_channels(p);
    const uint32_t *sums = (const uint32_t *)(packed + p->c.at_sums);
    const uint32_t *bias = (const uint32_t *)(packed + p->c.at_bias);
    const uint32_t zero = int_conv_x_zero(&p->c, r);
    uint32_t *offsets = r->workspace;
    if (r->part) return;
    for (size_t i = 0; i < filled; i++) offsets[i] = bias[i] - zero * sums[i];
    memset(offsets + filled, (int)(zero ^ (p->c.x_signed ? 0x80 : 0)), filled);
}

static last_depthwise_functions last_depthwise_find(cpu_level level, size_t channels)
{
    last_depthwise_functions none = {NULL, NULL, 0};
#if defined(__x86_64__)
    if (level >= CPU_AVX512)
        return cpu_has_byte_sums(CPU_AVX512) ? last_depthwise_vnni : last_depthwise_avx512;
    if (level >= CPU_AVX2 && channels >= last_depthwise_avx2.least) return last_depthwise_avx2;
#endif
    (void)level;
    (void)channels;
    return none;
}

/* One position, where there are no functions for the processor. */
static void last_depthwise_plain(const last_position *a, int32_t *sums)
{
    const last_depthwise *p = a->p;
    const int_tile *t = int_tile_of((cpu_level)p->c.level);
    const size_t channels = p->c.groups, taps = p->c.taps;
    const uint8_t flip = p->c.x_signed ? 0x80 : 0;
    for (size_t first = 0; first < channels; first += INT_MAX_COLUMNS) {
        const size_t n = channels - first < INT_MAX_COLUMNS ? channels - first : INT_MAX_COLUMNS;
        memset(sums, 0, n * sizeof *sums);
        for (size_t k = 0; k < taps; k++) {
            const uint8_t *x = a->list[k] + first;
            const int8_t *w = (const int8_t *)a->weights + k * channels + first;
            for (size_t i = 0; i < n; i++) sums[i] += (int32_t)(x[i] ^ flip) * w[i];
        }
        t->finish_columns(a->y + first, 0, sums, 1, n, &p->c.finish, a->offsets + first,
                          a->scales + first, a->factors + first);
    }
}

/* The positions of a line as they are computed. Even and odd ones have lists of their own. */
typedef struct positions {
    last_depthwise_functions functions;
    last_position at;
    pixel_line line;
    const uint8_t *lists[2][LAST_DEPTHWISE_TAPS];
    size_t rest; /* channels that two positions compute together */
} positions;

/* Computes pairs of positions from o on whose pixels lie one after the other, and makes the list of
 * the last one. Taps that fill up a four would not advance. @return their number of positions */
static int64_t last_depthwise_row(positions *s, int64_t o)
{
    const last_depthwise *p = s->at.p;
    const size_t channels = p->c.groups;
    const int64_t count = pixel_line_inside(&s->line, o) / 2 * 2;
    if (o % 2 || !count || !s->functions.row || 2 * channels != LAST_DEPTHWISE_BLOCK ||
        p->w.stride[2] != 1 || p->c.taps % 4 > 1)
        return 0;
    s->functions.row(&s->at, (size_t)count / 2);
    for (size_t t = 0; t < p->c.taps; t++)
        s->lists[1][t] = s->lists[0][t] + (size_t)(count - 1) * channels;
    return count;
}

/* Computes position o, or the channels that it does not share with the position behind it. */
static void last_depthwise_at(positions *s, const kernel_run *r, int64_t o)
{
    const last_depthwise *p = s->at.p;
    const size_t channels = p->c.groups;
    const bool waits = s->rest && o % 2 == 0 && o + 1 < p->w.out[2], ends = s->rest && o % 2;
    s->at.channels = waits || ends ? channels - s->rest : channels;
    if (!s->functions.run)
        last_depthwise_plain(&s->at, r->scratch);
    else if (s->at.channels)
        s->functions.run(&s->at);
    if (!ends) return;
    last_position before = s->at;
    before.list = s->lists[0];
    before.y -= channels;
    s->functions.pair(&before, s->at.list, s->at.y);
}

static void last_depthwise_line(const last_depthwise *p, const kernel_run *r, size_t index)
{
    const size_t per_image = (size_t)(p->w.out[0] * p->w.out[1]), channels = p->c.groups;
    const char *packed = r->packed;
    const size_t rest = channels % LAST_DEPTHWISE_BLOCK;
    positions s = {
        .functions = last_depthwise_find((cpu_level)p->c.level, channels),
        .at = {.p = p,
               .weights = r->packed,
               .offsets = r->workspace,
               .scales = (const double *)(packed + p->c.at_scales),
               .factors = (const float *)(packed + p->c.at_factors),
               .y = (uint8_t *)r->tensors[p->c.inputs] + index * (size_t)p->w.out[2] * channels}};
    const uint8_t *outside = (const uint8_t *)(s.at.offsets + filled_channels(p));
    if (s.functions.pair && rest <= LAST_DEPTHWISE_BLOCK / 2) s.rest = rest;
    pixel_line_start(&s.line, &p->w,
                     (const uint8_t *)r->tensors[0] +
                         index / per_image * int_conv_in_plane(&p->c) * channels,
                     outside, index % per_image);
    /* Those that fill up the last four have weights of 0. */
    for (size_t t = p->c.taps; t < 4 * p->fours; t++) s.lists[0][t] = s.lists[1][t] = outside;
    for (int64_t o = 0, count; o < p->w.out[2]; o += count) {
        s.at.list = s.lists[o % 2];
        pixel_line_list(&s.line, s.lists[o % 2], s.lists[(o + 1) % 2], o);
        count = last_depthwise_row(&s, o);
        if (!count) last_depthwise_at(&s, r, o);
        count += !count;
        s.at.y += (size_t)count * channels;
    }
}

static void int_conv_last_depthwise_run(const kernel_run *r)
{
    const last_depthwise *p = r->params;
    size_t from, to;
    if (r->phase == 0) {
        last_depthwise_begin(p, r);
        return;
    }
    kernel_share(&from, &to, p->c.batch * (size_t)(p->w.out[0] * p->w.out[1]), r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) last_depthwise_line(p, r, i);
}

#define ROW(suffix, level, products_per_ns)                                             \
    {                                                                                   \
        .name = "conv_int8_last_depthwise_" #suffix, .version = 2,                      \
        .ops = "com.microsoft:QLinearConv pgy:QLinearConv", .needs = level,             \
        .rates = {products_per_ns}, .accept = int_conv_last_depthwise_accept,           \
        .prepare = int_conv_last_depthwise_prepare, .run = int_conv_last_depthwise_run, \
        .extent = int_conv_last_depthwise_extent                                        \
    }
const kernel KERNELS_int_conv_last_depthwise[] = {
    ROW(portable, CPU_PORTABLE, 1),
    ROW(avx2, CPU_AVX2, 14),
    ROW(avx512, CPU_AVX512, 40),
    {0},
};

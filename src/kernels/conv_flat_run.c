/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution over flat positions: running the units of work. */
#include <string.h>

#include "base/cancel.h"
#include "kernels/conv_flat.h"

/* Weights that later taps read: two pages, as fetching by hardware ends with each page. */
enum { AHEAD_FLOATS = 2048 };

/* What lies in a thread's scratch memory. */
typedef struct scratch {
    uint64_t *note; /* the job of the input in `planes`, and its band; UINT64_MAX: none */
    conv_flat_vector *vectors;
    int32_t *offsets;
    float *planes;
} scratch;

static scratch divide_scratch(const conv_flat_geometry *g, void *memory)
{
    char *at = (char *)memory + 64;
    const scratch s = {.note = memory,
                       .vectors = (conv_flat_vector *)at,
                       .offsets = (int32_t *)(at + g->vectors * sizeof(conv_flat_vector))};
    return (scratch){s.note, s.vectors, s.offsets, (float *)(s.offsets + (g->taps + 1) / 2 * 2)};
}

/* Of the elements of a slot along an axis, [from, to) are inside the input; element `from` is
 * `first` there. */
typedef struct inside {
    uint64_t from, to;
    int64_t first;
} inside;

/* A band: its first outputs, its sizes (the last band of an axis may be shorter) and the number of
 * vectors that cover it. */
typedef struct band {
    uint64_t first[CONV_FLAT_AXES], size[CONV_FLAT_AXES], outputs, vectors;
    inside in[CONV_FLAT_AXES][CONV_FLAT_SLOTS]; /* of each slot of an axis */
} band;

static inside find_inside(const conv_flat *p, int axis, uint64_t slot, uint64_t origin,
                          uint64_t count)
{
    const int64_t stride = p->stride[axis], phase = (int64_t)slot * p->dilation[axis] % stride;
    const int64_t start = (int64_t)origin * stride + phase - p->pad[axis];
    const int64_t skipped = start < 0 ? (-start + stride - 1) / stride : 0;
    const int64_t left = p->from[axis] - start;
    const int64_t end = left > 0 ? (left + stride - 1) / stride : 0;
    inside in = {.from = (uint64_t)skipped, .to = (uint64_t)end};
    if (in.to > count) in.to = count;
    if (in.from > in.to) in.from = in.to;
    in.first = start + (int64_t)in.from * stride;
    return in;
}

static void find_band(band *b, const conv_flat *p, const conv_flat_geometry *g, uint64_t index)
{
    const uint64_t counts[] = {g->rows[0], g->rows[1], g->pitch};
    b->outputs = 1;
    for (int d = CONV_FLAT_AXES; d-- > 0; index /= g->bands[d]) {
        b->first[d] = index % g->bands[d] * g->band[d];
        const uint64_t left = (uint64_t)p->to[d] - b->first[d];
        b->size[d] = left < g->band[d] ? left : g->band[d];
        b->outputs *= b->size[d];
        for (uint64_t i = 0; i < g->slots[d]; i++)
            b->in[d][i] = find_inside(p, d, i, b->first[d], counts[d]);
    }
    const uint64_t lanes = conv_flat_loops_of(p->level)->lanes;
    const uint64_t last = ((b->size[0] - 1) * g->rows[1] + b->size[1] - 1) * g->pitch + b->size[2];
    b->vectors = (last + lanes - 1) / lanes;
}

static void find_offsets(int32_t *to, const conv_flat *p, const conv_flat_geometry *g)
{
    const uint64_t area = g->taps / p->in;
    uint64_t slot[3], index[3];
    for (uint64_t i = 0; i < area; i++) {
        const int64_t k = (int64_t)i;
        conv_flat_tap(p, 0, k / (p->kernel[1] * p->kernel[2]), &slot[0], &index[0]);
        conv_flat_tap(p, 1, k / p->kernel[2] % p->kernel[1], &slot[1], &index[1]);
        conv_flat_tap(p, 2, k % p->kernel[2], &slot[2], &index[2]);
        const uint64_t at = (slot[0] * g->slots[1] + slot[1]) * g->slots[2] + slot[2];
        to[i] = (int32_t)(at * g->slot_floats + (index[0] * g->rows[1] + index[1]) * g->pitch +
                          index[2]);
    }
    for (uint64_t i = area; i < g->taps; i++) to[i] = to[i - area] + (int32_t)g->channel_floats;
}

/* Sets the bits of positions [from, to). */
static void mark_outputs(conv_flat_vector *v, uint64_t lanes, uint64_t from, uint64_t to)
{
    while (from < to) {
        const uint64_t bit = from % lanes, room = lanes - bit;
        const uint64_t count = to - from < room ? to - from : room;
        v[from / lanes].mask |= (uint16_t)(((1u << count) - 1) << bit);
        from += count;
    }
}

static void find_vectors(conv_flat_vector *v, const conv_flat *p, const conv_flat_geometry *g,
                         const band *b)
{
    const uint64_t lanes = conv_flat_loops_of(p->level)->lanes;
    uint32_t at = 0;
    memset(v, 0, b->vectors * sizeof *v);
    for (uint64_t z = 0; z < b->size[0]; z++)
        for (uint64_t y = 0; y < b->size[1]; y++) {
            const uint64_t from = (z * g->rows[1] + y) * g->pitch;
            mark_outputs(v, lanes, from, from + b->size[2]);
        }
    for (uint64_t i = 0; i < b->vectors; i++) {
        v[i].at = at;
        v[i].count = (uint16_t)__builtin_popcount(v[i].mask);
        at += v[i].count;
    }
}

/* ---- Copying -------------------------------------------------------------------------------- */

/* Copies one slot of one channel; z, y, x: what of it is inside the input along each axis. */
static void copy_slot(float *to, const conv_flat *p, const conv_flat_geometry *g, const float *from,
                      const inside *z, const inside *y, const inside *x)
{
    const conv_flat_loops *loops = conv_flat_loops_of(p->level);
    const uint64_t plane = g->rows[1] * g->pitch;
    conv_flat_copy c = {.pitch = g->pitch,
                        .left = x->from,
                        .count = x->to - x->from,
                        .stride = (size_t)p->stride[2],
                        .rows = y->to - y->from,
                        .row_step = (size_t)(p->stride[1] * p->from[2]),
                        .before = y->from * g->pitch,
                        .behind = (g->rows[1] - y->to) * g->pitch};
    for (uint64_t i = 0; i < g->rows[0]; i++, to += plane) {
        if (i < z->from || i >= z->to || !c.rows || !c.count) {
            memset(to, 0, plane * sizeof *to);
            continue;
        }
        const int64_t row = z->first + (int64_t)(i - z->from) * p->stride[0];
        c.to = to;
        c.x = from + (row * p->from[1] + y->first) * p->from[2] + x->first;
        loops->copy(&c);
    }
}

static void copy_job(const conv_flat *p, const conv_flat_geometry *g, float *to,
                     const kernel_run *r, const band *b, uint64_t job)
{
    const uint64_t plane = (uint64_t)(p->from[0] * p->from[1] * p->from[2]);
    const float *x = (const float *)r->tensors[0] + job * p->in * plane;
    for (uint64_t c = 0; c < p->in; c++, x += plane)
        for (uint64_t i = 0; i < g->slots[0]; i++)
            for (uint64_t j = 0; j < g->slots[1]; j++)
                for (uint64_t k = 0; k < g->slots[2]; k++, to += g->slot_floats)
                    copy_slot(to, p, g, x, &b->in[0][i], &b->in[1][j], &b->in[2][k]);
}

/* ---- Computing ------------------------------------------------------------------------------ */

static void (*const *tiles_of(const conv_flat *p, const conv_flat_loops *loops,
                              uint32_t log))(const conv_flat_call *c)
{
    const int64_t columns = p->kernel[2];
    const bool near = p->stride[2] == 1 && p->dilation[2] == 1 && columns % 2 && log == 0;
    if (near && columns >= 3 && columns <= 7 && loops->near[0][1])
        return loops->near[columns / 2 - 1];
    return loops->tile[log];
}

/* Is the input laid out as a copy of it would be, in whole vectors? */
static bool reads_in_place(const conv_flat *p, const conv_flat_geometry *g)
{
    const uint64_t lanes = conv_flat_loops_of(p->level)->lanes;
    for (int d = 0; d < CONV_FLAT_AXES; d++)
        if (p->kernel[d] > 1 || p->stride[d] > 1 || p->pad[d] || p->from[d] != p->to[d] ||
            g->bands[d] > 1)
            return false;
    return g->channel_floats % lanes == 0;
}

/* x: the input of the band, a copy or not. */
static void compute_block(const conv_flat *p, const conv_flat_geometry *g, const scratch *s,
                          const float *x, const kernel_run *r, const band *b, uint64_t job,
                          uint64_t block)
{
    const conv_flat_loops *loops = conv_flat_loops_of(p->level);
    const uint64_t area = (uint64_t)(p->to[0] * p->to[1] * p->to[2]);
    uint64_t first;
    uint32_t log;
    conv_flat_block(p, block, &first, &log);
    const uint64_t group = p->batch > 1 ? job % p->groups : job;
    const uint64_t channel = group * p->out + first;
    const float *packed = r->packed;
    const uint64_t at =
        (job * p->out + first) * area +
        ((b->first[0] * (uint64_t)p->to[1] + b->first[1]) * (uint64_t)p->to[2] + b->first[2]);
    conv_flat_call c = {.w = packed + p->groups * p->out + channel * g->taps,
                        .bias = packed + channel,
                        .offsets = s->offsets,
                        .taps = g->taps,
                        .y = (float *)r->tensors[p->inputs] + at,
                        .sum = p->has_sum ? (const float *)r->tensors[3] + at : NULL,
                        .y_step = area,
                        .room = b->outputs,
                        .activation = p->activation,
                        .parameter = {p->parameter[0], p->parameter[1]}};
    void (*const *run)(const conv_flat_call *c) = tiles_of(p, loops, log);
    const uint64_t most = loops->widths[log];
    const uint64_t tiles = b->vectors <= most ? 1 : (b->vectors + most - 1) / most;
    for (uint64_t i = 0, done = 0, n; i < tiles; i++, done += n) {
        n = b->vectors - done;
        if (tiles - i > 1) n /= tiles - i; /* tiles of similar sizes */
        c.x = x + done * loops->lanes;
        c.vectors = s->vectors + done;
        c.ahead = i ? 0 : AHEAD_FLOATS; /* the other tiles read them again */
        run[n](&c);
    }
    for (uint64_t i = 0; p->activation >= CONV_SIGMOID && i < 1u << log; i++)
        conv_activate(p->activation, c.y + i * area, b->outputs);
}

void conv_flat_run(const kernel_run *r)
{
    const conv_flat *p = r->params;
    conv_flat_geometry g;
    size_t from, to;
    (void)conv_flat_divide(&g, p); /* it did when the kernel was prepared */
    const scratch s = divide_scratch(&g, r->scratch);
    const uint64_t bands = g.bands[0] * g.bands[1] * g.bands[2];
    kernel_share(&from, &to, bands * g.jobs * g.blocks, r->part, r->parts);
    if (!r->resumed) {
        s.note[0] = s.note[1] = UINT64_MAX;
        find_offsets(s.offsets, p, &g);
        memset(s.planes + p->in * g.channel_floats, 0, g.slack * sizeof(float));
    }
    uint64_t block = from % g.blocks, job = from / g.blocks % g.jobs;
    uint64_t index = from / g.blocks / g.jobs;
    const bool in_place = reads_in_place(p, &g);
    band b;
    find_band(&b, p, &g, index);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        if (index != s.note[1]) find_vectors(s.vectors, p, &g, &b);
        const float *x = (const float *)r->tensors[0] + job * p->in * g.channel_floats;
        if (!in_place) {
            if (index != s.note[1] || job != s.note[0]) copy_job(p, &g, s.planes, r, &b, job);
            x = s.planes;
        }
        s.note[0] = job;
        s.note[1] = index;
        compute_block(p, &g, &s, x, r, &b, job, block);
        if (++block < g.blocks) continue;
        block = 0;
        if (++job < g.jobs) continue;
        job = 0;
        if (i + 1 < to) find_band(&b, p, &g, ++index);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution of planes: the kernel. Its parameters and packed weights are those of
 * conv_flat, with which it shares them. */
#include "kernels/conv_plane.h"

#include "base/alloc.h"
#include "base/cancel.h"

/* How the output rows of a plane become tiles. Rows of a tile lie `apart` where the kernel is
 * dilated, so that they read the same input rows. */
typedef struct conv_plane_geometry {
    uint64_t apart, phases, groups; /* groups: tiles of each phase */
    uint64_t columns;               /* tiles side by side */
    const conv_plane_set *set;
    const conv_plane_function *tiles;
} conv_plane_geometry;

enum { MOST_PAD = 16, MOST_WIDTH = 2048 };

static const conv_plane_set *set_of(uint32_t level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &conv_plane_avx512;
    if (level >= CPU_AVX2) return &conv_plane_avx2;
#endif
    (void)level;
    return NULL;
}

/* NULL: no tiles for this kernel. */
static const conv_plane_function *tiles_of(const conv_plane_set *set, const conv_flat *p)
{
    for (size_t i = 0; i < CONV_PLANE_KINDS; i++)
        if (set->kinds[i].columns == p->kernel[2] && set->kinds[i].stride == p->stride[2] &&
            set->kinds[i].dilation == p->dilation[2])
            return set->kinds[i].tiles;
    return NULL;
}

static uint64_t vectors_of(const conv_flat *p, const conv_plane_set *set)
{
    return ((uint64_t)p->to[2] + set->lanes - 1) / set->lanes;
}

/* False: this kernel has no tiles for the problem. The parameters may come from a plan file, but
 * their sizes are valid ones of conv_flat. */
static bool conv_plane_divide(conv_plane_geometry *g, const conv_flat *p)
{
    const conv_plane_set *set = set_of(p->level);
    if (!set || p->turned || p->in != 1 || p->out != 1) return false;
    if (p->from[0] != 1 || p->to[0] != 1 || p->kernel[0] != 1 || p->pad[0] != 0) return false;
    if (p->kernel[1] > CONV_PLANE_TAPS || p->pad[2] > MOST_PAD || p->to[2] > MOST_WIDTH)
        return false;
    if (p->to[1] > 1 && p->stride[1] != p->stride[2]) return false;
    if (p->stride[1] > 1 && p->dilation[1] > 1) return false;
    const conv_plane_function *tiles = tiles_of(set, p);
    if (!tiles) return false;
    const uint64_t rows = (uint64_t)p->to[1], apart = (uint64_t)p->dilation[1];
    *g = (conv_plane_geometry){.apart = apart,
                               .phases = rows < apart ? rows : apart,
                               .columns = (vectors_of(p, set) + set->width - 1) / set->width,
                               .set = set,
                               .tiles = tiles};
    g->groups = ((rows + apart - 1) / apart + CONV_PLANE_ROWS - 1) / CONV_PLANE_ROWS;
    return true;
}

static bool conv_plane_accept(kernel_problem *u, double *cost_ns)
{
    conv_flat p;
    conv_plane_geometry g;
    if (!conv_flat_describe(&p, u) || !conv_plane_divide(&g, &p)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    /* In cycles: a tile takes a call, an input row its loads, and tiles of one vector load a weight
     * for each product. */
    const double call = g.set->call, load = g.set->load[p.stride[2] - 1];
    const double jobs = (double)(p.batch * p.groups), taps = (double)(p.kernel[1] * p.kernel[2]);
    const double vectors = (double)vectors_of(&p, g.set), tiles = (double)(g.phases * g.groups);
    const double reads = (double)((CONV_PLANE_ROWS - 1) * p.stride[2] + p.kernel[1]);
    const double products = (double)p.to[1] * vectors * taps * (vectors > 1 ? 1 : g.set->lone);
    const double cycles = products + tiles * (double)g.columns * (call + load * reads);
    const double bytes =
        (double)(kernel_size_bytes(&u->inputs[0]) + kernel_size_bytes(&u->outputs[0]));
    /* Where a tensor comes from memory, narrow tiles were measured to take several times as long. */
    enum { FAR_BYTES = 8 << 20 };
    *cost_ns = 200 + jobs * cycles / u->self->rates[0] +
               bytes * (g.set->narrow && bytes > FAR_BYTES ? 0.05 : 0.01);
    return true;
}

static pgy_status conv_plane_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    conv_plane_geometry g;
    conv_flat *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)conv_flat_describe(p, u); /* cannot fail after `accept`, nor can the next */
    (void)conv_plane_divide(&g, p);
    const uint64_t tiles = p->batch * p->groups * g.phases * g.groups;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = (uint32_t)(tiles < 256 ? tiles : 256);
    const pgy_status st = conv_flat_pack(out, p, u, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static bool conv_plane_extent(kernel_extent *e, const kernel_claim *q)
{
    const conv_flat *p = extent_params(e, q, sizeof *p);
    conv_plane_geometry g;
    if (!p || !conv_flat_claim(e, q, p)) return false;
    return conv_plane_divide(&g, p) || extent_refuse(e, "sizes");
}

/* ---- Running -------------------------------------------------------------------------------- */

/* `at`, if it is at least 0 and at most `most`; else the nearer of these. */
static uint16_t clamp(int64_t at, int64_t most)
{
    return (uint16_t)(at < 0 ? 0 : at > most ? most : at);
}

static uint16_t lanes_between(int64_t from, int64_t to, int64_t lanes)
{
    return (uint16_t)((1u << clamp(to, lanes)) - (1u << clamp(from, lanes)));
}

/* Tiles of similar widths. */
static void find_columns(conv_plane_columns *to, const conv_flat *p, const conv_plane_geometry *g)
{
    const int64_t stride = p->stride[2], lanes = (int64_t)g->set->lanes;
    uint64_t left = vectors_of(p, g->set), count = g->columns;
    for (int64_t y = 0; count; to++, count--) {
        const int64_t width = (int64_t)(left / count), loads = (width + 1) * stride;
        const int64_t x = y * stride - p->pad[2];
        *to = (conv_plane_columns){.x = x,
                                   .y = y,
                                   .from = clamp(-x, loads * lanes),
                                   .to = clamp(p->from[2] - x, loads * lanes),
                                   .width = (uint16_t)width,
                                   .whole = x >= 0 && p->from[2] - x >= loads * lanes};
        for (int64_t i = 0; i < loads; i++)
            to->loads[i] = lanes_between(to->from - i * lanes, to->to - i * lanes, lanes);
        y += width * lanes;
        left -= (uint64_t)width;
        to->last = clamp(p->to[2] - y + lanes, lanes);
    }
}

/* Finds for each input row of a tile with `rows` output rows those that it serves. */
static void find_spans(uint8_t spans[CONV_PLANE_READS], const conv_flat *p, int64_t rows)
{
    for (int64_t i = 0; i < CONV_PLANE_READS; i++) {
        int64_t from = 0, to = 0;
        while (from < rows && i - from * p->stride[2] >= p->kernel[1]) from++;
        while (to < rows && i - to * p->stride[2] >= 0) to++;
        spans[i] = (uint8_t)(from < to ? CONV_PLANE_SPAN(from, to) : 0);
    }
}

typedef struct plane_run {
    const conv_flat *p;
    conv_plane_geometry g;
    conv_plane_columns columns[CONV_PLANE_COLUMNS];
    uint8_t spans[CONV_PLANE_ROWS + 1][CONV_PLANE_READS];
    conv_plane_call call; /* what all tiles of a plane have in common */
    const float *x, *sum; /* the plane in each tensor; sum may be NULL */
    float *y;
} plane_run;

static void begin_run(plane_run *z, const conv_flat *p)
{
    (void)conv_plane_divide(&z->g, p); /* it did when the kernel was prepared */
    z->p = p;
    find_columns(z->columns, p, &z->g);
    for (int64_t rows = 1; rows <= CONV_PLANE_ROWS; rows++) find_spans(z->spans[rows], p, rows);
    const int64_t apart = (int64_t)z->g.apart;
    z->call = (conv_plane_call){.x_step = (size_t)(apart * p->from[2]),
                                .y_step = (size_t)(apart * p->to[2]),
                                .activation = p->activation,
                                .parameter = {p->parameter[0], p->parameter[1]}};
}

static void begin_plane(plane_run *z, const kernel_run *r, uint64_t plane)
{
    const conv_flat *p = z->p;
    const uint64_t channel = plane % p->groups, in = (uint64_t)(p->from[1] * p->from[2]);
    const uint64_t out = (uint64_t)(p->to[1] * p->to[2]);
    const float *packed = r->packed;
    z->call.bias = packed + channel;
    z->call.w = packed + p->groups + channel * (uint64_t)(p->kernel[1] * p->kernel[2]);
    z->x = (const float *)r->tensors[0] + plane * in;
    z->y = (float *)r->tensors[p->inputs] + plane * out;
    z->sum = p->has_sum ? (const float *)r->tensors[3] + plane * out : NULL;
}

static void activate_rows(const conv_flat *p, float *y, int64_t step, int64_t rows)
{
    if (p->activation < CONV_SIGMOID) return;
    for (int64_t i = 0; i < rows; i++) conv_activate(p->activation, y + i * step, (size_t)p->to[2]);
}

/* The number of multiples of `step` below `length`. Steps of 1 need no division, which takes as
 * long as many products. */
static int64_t steps_below(int64_t length, int64_t step)
{
    if (length <= 0) return 0;
    return step == 1 ? length : (length + step - 1) / step;
}

/* Computes the tiles of output rows from `row` on. */
static void compute_rows(const plane_run *z, int64_t row)
{
    const conv_flat *p = z->p;
    conv_plane_call c = z->call;
    const int64_t apart = (int64_t)z->g.apart, left = steps_below(p->to[1] - row, apart);
    const int64_t rows = left < CONV_PLANE_ROWS ? left : CONV_PLANE_ROWS;
    const int64_t top = row * p->stride[1] - p->pad[1];
    const int64_t reads = (rows - 1) * p->stride[2] + p->kernel[1];
    const int64_t first = steps_below(-top, apart), below = steps_below(p->from[1] - top, apart);
    const int64_t last = below < reads ? below : reads, at = row * p->to[2];
    c.rows = (size_t)rows;
    c.spans = z->spans[rows];
    c.last = (size_t)last;
    c.first = (size_t)(first < last ? first : last);
    const float *x = first < last ? z->x + (top + first * apart) * p->from[2] : z->x;
    for (uint64_t i = 0; i < z->g.columns; i++) {
        const conv_plane_columns *columns = &z->columns[i];
        c.columns = columns;
        c.x = x + columns->x;
        c.y = z->y + at + columns->y;
        c.sum = z->sum ? z->sum + at + columns->y : NULL;
        z->g.tiles[columns->width](&c);
    }
    activate_rows(p, z->y + at, (int64_t)c.y_step, rows);
}

static void conv_plane_run(const kernel_run *r)
{
    plane_run z;
    size_t from, to;
    begin_run(&z, r->params);
    const uint64_t phases = z.g.phases, each = phases * z.g.groups;
    kernel_share(&from, &to, z.p->batch * z.p->groups * each, r->part, r->parts);
    uint64_t plane = from / each, phase = from % each % phases, group = from % each / phases;
    if (from < to) begin_plane(&z, r, plane);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const int64_t row = (int64_t)(phase + group * CONV_PLANE_ROWS * z.g.apart);
        if (row < z.p->to[1]) compute_rows(&z, row);
        if (++phase < phases) continue;
        phase = 0;
        if (++group < z.g.groups) continue;
        group = 0;
        if (i + 1 < to) begin_plane(&z, r, ++plane);
    }
}

#define ROW(suffix, level, cycles_per_ns)                                                  \
    {                                                                                      \
        .name = "conv_f32_plane_" #suffix, .version = 1,                                   \
        .ops = "Conv com.microsoft:FusedConv pgy:FusedConv", .needs = level,               \
        .rates = {cycles_per_ns}, .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED,    \
        .accept = conv_plane_accept, .prepare = conv_plane_prepare, .run = conv_plane_run, \
        .extent = conv_plane_extent                                                        \
    }
const kernel KERNELS_conv_plane[] = {
    ROW(avx2, CPU_AVX2, 4.4),
    ROW(avx512, CPU_AVX512, 3.5),
    {0},
};

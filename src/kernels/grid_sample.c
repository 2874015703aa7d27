/* SPDX-License-Identifier: Apache-2.0 */
/* GridSample in float32 over up to three spatial axes. Indices and weights of the taps are computed
 * once for a stretch of positions and used for all channels. Positions are computed in double, as
 * in the definition, so both choose the same pixels. Linear tensors suit few channels; blocked by
 * channels, a tap is one vector. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/grid_loops.h"

enum { AXES = 3, AXIS_TAPS = 4, MOST_TAPS = 64, STRETCH = GRID_STRETCH, OUTSIDE = GRID_OUTSIDE };
enum { SCRATCH_BYTES = MOST_TAPS * STRETCH * (sizeof(float) + sizeof(int32_t)) };
typedef enum mode { NEAREST, LINEAR, CUBIC } mode;
typedef enum padding { ZEROS, BORDER, REFLECTION } padding;

typedef struct params {
    uint32_t axes, mode, padding, align, level, blocked;
    /* channels: blocks of channels in a blocked tensor */
    uint64_t batch, channels, plane, positions; /* plane: input pixels; positions: output pixels */
    int64_t extent[AXES];
} params;

static const grid_loops *loops_of(uint32_t level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &grid_loops_avx512;
    if (level >= CPU_AVX2) return &grid_loops_avx2;
#endif
    (void)level;
    return &grid_loops_portable;
}

/* An input index along one axis, and its weight. */
typedef struct tap {
    int64_t index;
    double weight;
} tap;

static bool read_modes(params *p, const op_node *n)
{
    const bool flat = n->def->since < 20;
    if (op_attr_is(n, "mode", "nearest", flat ? "bilinear" : "linear"))
        p->mode = NEAREST;
    else if (op_attr_is(n, "mode", flat ? "bilinear" : "linear", flat ? "bilinear" : "linear"))
        p->mode = LINEAR;
    else if (op_attr_is(n, "mode", flat ? "bicubic" : "cubic", ""))
        p->mode = CUBIC;
    else
        return false;
    p->align = op_attr_int(n, "align_corners", 0) != 0;
    p->padding = op_attr_is(n, "padding_mode", "border", "zeros")       ? BORDER
                 : op_attr_is(n, "padding_mode", "reflection", "zeros") ? REFLECTION
                                                                        : ZEROS;
    return true;
}

static bool grid_sample_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *grid = &u->inputs[1], *y = &u->outputs[0];
    *p = (params){.plane = 1, .positions = 1, .level = u->self->needs};
    if (x->dtype != PGY_F32 || grid->dtype != PGY_F32 || x->rank < 3 || x->rank > 2 + AXES ||
        !kernel_count(x) || !kernel_count(y))
        return false;
    p->axes = (uint32_t)x->rank - 2;
    p->batch = (uint64_t)x->shape[0];
    p->channels = (uint64_t)x->shape[1];
    for (uint32_t a = 0; a < p->axes; a++) {
        p->extent[a] = x->shape[2 + a];
        p->plane *= (uint64_t)x->shape[2 + a];
        p->positions *= (uint64_t)y->shape[2 + a];
    }
    p->blocked = u->self->rates[1] != 0;
    const uint64_t block = loops_of(p->level)->block;
    if (p->blocked) p->channels = (p->channels + block - 1) / block;
    return p->plane <= INT32_MAX && read_modes(p, u->node);
}

static size_t axis_taps(const params *p)
{
    return p->mode == NEAREST ? 1 : p->mode == LINEAR ? 2 : 4;
}

static size_t all_taps(const params *p)
{
    size_t count = 1;
    for (uint32_t a = 0; a < p->axes; a++) count *= axis_taps(p);
    return count;
}

static uint64_t stretches(const params *p)
{
    return (p->positions + STRETCH - 1) / STRETCH;
}

static bool grid_sample_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!grid_sample_describe(&p, u)) return false;
    const kernel_layout blocks =
        loops_of(p.level)->block == 16 ? KERNEL_BLOCKED_16 : KERNEL_BLOCKED_8;
    u->inputs[1].layout = KERNEL_LINEAR;
    u->inputs[0].layout = u->outputs[0].layout = p.blocked ? blocks : KERNEL_LINEAR;
    const double taps = (double)all_taps(&p), place = p.mode == LINEAR ? 4 : 30;
    *cost_ns = 100 + (double)(p.batch * p.positions) *
                         (place * p.axes + taps * 0.5 +
                          taps * (double)p.channels * u->self->rates[0] + (double)p.channels * 0.3);
    return true;
}

static pgy_status grid_sample_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)grid_sample_describe(p, u); /* cannot fail after `accept` */
    const uint64_t units = p->batch * stretches(p);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = (uint32_t)(units < 256 ? units : 256);
    out->scratch_bytes = SCRATCH_BYTES;
    return PGY_OK;
}

static bool grid_sample_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    uint64_t plane = 1;
    if (!p || !extent_level(e, p->level) || !extent_enum(e, p->blocked, 2, "layout") ||
        !extent_enum(e, p->mode, CUBIC + 1, "mode") ||
        !extent_enum(e, p->padding, REFLECTION + 1, "padding"))
        return false;
    if (q->input_count != 2) return extent_refuse(e, "number of inputs");
    if (p->axes < 1 || p->axes > AXES) return extent_refuse(e, "axes");
    for (uint32_t a = 0; a < p->axes; a++) {
        if (p->extent[a] < 1) return extent_refuse(e, "sizes");
        plane = extent_mul(plane, (uint64_t)p->extent[a]);
    }
    const uint64_t block = p->blocked ? loops_of(p->level)->block : 1;
    const uint64_t planes = extent_mul3(p->batch, p->channels, block);
    if (plane != p->plane || plane > INT32_MAX || p->positions > INT64_MAX)
        return extent_refuse(e, "sizes");
    extent_tensor(e, 0, extent_mul(planes, plane), sizeof(float));
    extent_tensor(e, 1, extent_mul3(p->batch, p->positions, p->axes), sizeof(float));
    extent_tensor(e, 2, extent_mul(planes, p->positions), sizeof(float));
    e->indices = 1u << 1;
    e->scratch = SCRATCH_BYTES;
    return true;
}

/* ---- Where a position lies on an axis ------------------------------------------------------- */

static double grid_sample_reflect(double x, double low, double high)
{
    const double length = high - low;
    if (length <= 0) return low;
    const double offset = fmod(fabs(x - low), 2 * length);
    return low + (offset > length ? 2 * length - offset : offset);
}

static double grid_sample_padded(const params *p, double x, double extent)
{
    const double low = p->align ? 0 : -0.5, high = p->align ? extent - 1 : extent - 0.5;
    if (p->padding == BORDER) return fmin(fmax(x, 0), extent - 1);
    return p->padding == REFLECTION ? grid_sample_reflect(x, low, high) : x;
}

static int64_t index_of(const params *p, double x, double extent)
{
    if (p->padding == ZEROS) return x >= 0 && x < extent ? (int64_t)x : OUTSIDE;
    return (int64_t)fmin(fmax(nearbyint(grid_sample_padded(p, x, extent)), 0), extent - 1);
}

static double grid_sample_cubic(double d)
{
    const double a = -0.75;
    d = fabs(d);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? (((d - 5) * d + 8) * d - 4) * a : 0;
}

static void grid_sample_find_taps(const params *p, tap *taps, double normal, double extent)
{
    double x = p->align ? (normal + 1) / 2 * (extent - 1) : ((normal + 1) * extent - 1) / 2;
    if (!(fabs(x) < 1e15)) x = p->padding == ZEROS || isnan(x) ? -1e9 : fmin(fmax(x, -1e15), 1e15);
    if (p->mode == NEAREST) {
        taps[0] = (tap){index_of(p, nearbyint(grid_sample_padded(p, x, extent)), extent), 1};
        return;
    }
    if (p->mode == LINEAR) x = grid_sample_padded(p, x, extent);
    const double low = floor(x), first = p->mode == LINEAR ? low : low - 1;
    for (size_t i = 0; i < axis_taps(p); i++) {
        const double at = first + (double)i;
        taps[i] = (tap){index_of(p, at, extent),
                        p->mode == LINEAR ? 1 - fabs(x - at) : grid_sample_cubic(x - at)};
    }
}

/* ---- Running -------------------------------------------------------------------------------- */

/* The taps of up to STRETCH output positions along each axis, [axis][tap][position]. */
typedef struct axis_tables {
    int32_t index[AXES][AXIS_TAPS * STRETCH];
    double weight[AXES][AXIS_TAPS * STRETCH];
} axis_tables;

/* grid: the coordinate of the first position along this axis of the image. */
static void place_along(axis_tables *t, const params *p, uint32_t a, const float *grid, size_t n)
{
    const double extent = (double)p->extent[a];
    if (p->mode == LINEAR && p->padding != REFLECTION) {
        loops_of(p->level)->linear(t->index[a], t->weight[a], grid, p->axes, n, extent, p->align,
                                   p->padding == BORDER);
        return;
    }
    for (size_t i = 0; i < STRETCH; i++) {
        tap taps[AXIS_TAPS] = {0};
        if (i < n) grid_sample_find_taps(p, taps, (double)grid[i * p->axes], extent);
        for (size_t k = 0; k < axis_taps(p); k++) {
            t->index[a][k * STRETCH + i] = (int32_t)taps[k].index;
            t->weight[a][k * STRETCH + i] = taps[k].weight;
        }
    }
}

/* Combines one tap of each axis, the digits of `number`. */
static void combine_taps(int32_t *index, float *weight, const params *p, const axis_tables *t,
                         size_t number)
{
    const size_t each = axis_taps(p);
    grid_axis axes[AXES];
    int32_t stride = 1;
    for (uint32_t a = p->axes; a-- > 0; number /= each) {
        const size_t at = number % each * STRETCH;
        axes[a] = (grid_axis){t->index[a] + at, t->weight[a] + at, stride};
        stride *= (int32_t)p->extent[a];
    }
    loops_of(p->level)->combine(index, weight, axes, p->axes);
}

/* Finds the taps of a stretch of an image that begins at position `first`. */
static void place_stretch(int32_t *index, float *weight, const params *p, const float *grid,
                          size_t n)
{
    axis_tables t;
    for (uint32_t a = 0; a < p->axes; a++) place_along(&t, p, a, grid + p->axes - 1 - a, n);
    for (size_t i = 0; i < all_taps(p); i++)
        combine_taps(index + i * STRETCH, weight + i * STRETCH, p, &t, i);
}

/* Computes `count` stretches of an image from `begin` on, for which the scratch memory has room.
 * One channel after the other, so that its plane stays in the cache for all of them. */
static void sample_stretches(const params *p, const kernel_run *r, uint64_t image, uint64_t begin,
                             size_t count)
{
    const grid_loops *loops = loops_of(p->level);
    const uint64_t item = p->blocked ? loops->block : 1, each = all_taps(p) * STRETCH;
    int32_t *index = r->scratch;
    float *weight = (float *)r->scratch + (size_t)MOST_TAPS * STRETCH;
    const float *grid = (const float *)r->tensors[1] + image * p->positions * p->axes;
    for (size_t s = 0; s < count; s++) {
        const uint64_t first = (begin + s) * STRETCH, rest = p->positions - first;
        place_stretch(index + s * each, weight + s * each, p, grid + first * p->axes,
                      rest < STRETCH ? rest : STRETCH);
    }
    for (uint64_t c = 0; c < p->channels && !cancel_requested(); c++) {
        const uint64_t plane = image * p->channels + c;
        const float *x = (const float *)r->tensors[0] + plane * p->plane * item;
        for (size_t s = 0; s < count; s++) {
            const uint64_t first = (begin + s) * STRETCH, rest = p->positions - first;
            const grid_taps taps = {index + s * each, weight + s * each, all_taps(p),
                                    rest < STRETCH ? rest : STRETCH};
            float *y = (float *)r->tensors[2] + (plane * p->positions + first) * item;
            (p->blocked ? loops->blocked : loops->plane)(y, x, &taps);
        }
    }
}

static void grid_sample_run(const kernel_run *r)
{
    const params *p = r->params;
    const uint64_t most = MOST_TAPS / all_taps(p), each = stretches(p);
    size_t from, to;
    kernel_share(&from, &to, p->batch * each, r->part, r->parts);
    while (from < to && !cancel_requested()) {
        uint64_t count = each - from % each;
        if (count > most) count = most;
        if (count > to - from) count = to - from;
        sample_stretches(p, r, from / each, from % each, count);
        from += count;
    }
}

/* tap_ns: time of a tap for one channel, or block of channels */
#define ROW(suffix, level, tap_ns, blocked)                                                       \
    {                                                                                             \
        .name = "grid_sample_f32_" #suffix, .version = 1,                                         \
        .ops = "GridSample com.microsoft:GridSample", .needs = level, .rates = {tap_ns, blocked}, \
        .accept = grid_sample_accept, .prepare = grid_sample_prepare, .run = grid_sample_run,     \
        .extent = grid_sample_extent                                                              \
    }
const kernel KERNELS_grid_sample[] = {
    ROW(portable, CPU_PORTABLE, 1.2, 0),
    ROW(avx2, CPU_AVX2, 0.6, 0),
    ROW(avx512, CPU_AVX512, 0.5, 0),
    ROW(blocked_portable, CPU_PORTABLE, 2, 1),
    ROW(blocked_avx2, CPU_AVX2, 0.9, 1),
    ROW(blocked_avx512, CPU_AVX512, 0.9, 1),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* GridSample in float32 over up to three spatial axes. Indices and weights of the taps are computed
 * once for a stretch of positions and used for all channels. Positions are computed in double, as
 * in the definition, so both choose the same pixels. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"

enum { AXES = 3, AXIS_TAPS = 4, MOST_TAPS = 64, STRETCH = 64, OUTSIDE = -1 };
typedef enum mode { NEAREST, LINEAR, CUBIC } mode;
typedef enum padding { ZEROS, BORDER, REFLECTION } padding;

typedef struct params {
    uint32_t axes, mode, padding, align;
    uint64_t batch, channels, plane, positions; /* plane: input pixels; positions: output pixels */
    int64_t extent[AXES];
} params;

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
    *p = (params){.plane = 1, .positions = 1};
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
    u->inputs[0].layout = u->inputs[1].layout = u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)(p.batch * p.positions) *
                         (30 * p.axes + (double)(all_taps(&p) * (p.channels + 2)) * 1.2);
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
    out->scratch_bytes = MOST_TAPS * STRETCH * (sizeof(float) + sizeof(int32_t));
    return PGY_OK;
}

static bool grid_sample_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    uint64_t plane = 1;
    if (!p || !extent_enum(e, p->mode, CUBIC + 1, "mode") ||
        !extent_enum(e, p->padding, REFLECTION + 1, "padding"))
        return false;
    if (q->input_count != 2) return extent_refuse(e, "number of inputs");
    if (p->axes < 1 || p->axes > AXES) return extent_refuse(e, "axes");
    for (uint32_t a = 0; a < p->axes; a++) {
        if (p->extent[a] < 1) return extent_refuse(e, "sizes");
        plane = extent_mul(plane, (uint64_t)p->extent[a]);
    }
    const uint64_t planes = extent_mul(p->batch, p->channels);
    if (plane != p->plane || plane > INT32_MAX || p->positions > INT64_MAX)
        return extent_refuse(e, "sizes");
    extent_tensor(e, 0, extent_mul(planes, plane), sizeof(float));
    extent_tensor(e, 1, extent_mul3(p->batch, p->positions, p->axes), sizeof(float));
    extent_tensor(e, 2, extent_mul(planes, p->positions), sizeof(float));
    e->indices = 1u << 1;
    e->scratch = MOST_TAPS * STRETCH * (sizeof(float) + sizeof(int32_t));
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

/* The taps of up to STRETCH output positions, as [tap][position]. */
typedef struct stretch {
    int32_t *index; /* index of the pixel in its input plane, or OUTSIDE */
    float *weight;
} stretch;

static void grid_sample_place(const params *p, const stretch *s, size_t at, const float *grid)
{
    tap taps[AXES][AXIS_TAPS];
    const size_t each = axis_taps(p), count = all_taps(p);
    for (uint32_t a = 0; a < p->axes; a++)
        grid_sample_find_taps(p, taps[a], (double)grid[p->axes - 1 - a], (double)p->extent[a]);
    for (size_t i = 0; i < count; i++) {
        size_t rest = i;
        int64_t index = 0, stride = 1;
        double weight = 1;
        for (uint32_t a = p->axes; a-- > 0; rest /= each) {
            const tap *t = &taps[a][rest % each];
            if (t->index < 0 || index < 0)
                index = OUTSIDE;
            else
                index += t->index * stride;
            weight *= t->weight;
            stride *= p->extent[a];
        }
        s->index[i * STRETCH + at] = (int32_t)index;
        s->weight[i * STRETCH + at] = (float)weight;
    }
}

static void grid_sample_unit(const params *p, const kernel_run *r, uint64_t unit)
{
    const uint64_t image = unit / stretches(p), first = unit % stretches(p) * STRETCH;
    const size_t n = p->positions - first < STRETCH ? p->positions - first : STRETCH;
    const size_t count = all_taps(p);
    const stretch s = {.index = r->scratch,
                       .weight = (float *)r->scratch + (size_t)MOST_TAPS * STRETCH};
    const float *grid = (const float *)r->tensors[1] + (image * p->positions + first) * p->axes;
    for (size_t i = 0; i < n; i++) grid_sample_place(p, &s, i, grid + i * p->axes);
    for (uint64_t c = 0; c < p->channels; c++) {
        const uint64_t plane = image * p->channels + c;
        const float *x = (const float *)r->tensors[0] + plane * p->plane;
        float *y = (float *)r->tensors[2] + plane * p->positions + first;
        for (size_t i = 0; i < n; i++) {
            float sum = 0;
            for (size_t t = 0; t < count; t++) {
                const int32_t index = s.index[t * STRETCH + i];
                if (index != OUTSIDE) sum += s.weight[t * STRETCH + i] * x[index];
            }
            y[i] = sum;
        }
    }
}

static void grid_sample_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, p->batch * stretches(p), r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) grid_sample_unit(p, r, i);
}

const kernel KERNELS_grid_sample[] = {
    {.name = "grid_sample_f32",
     .version = 1,
     .ops = "GridSample",
     .accept = grid_sample_accept,
     .prepare = grid_sample_prepare,
     .run = grid_sample_run,
     .extent = grid_sample_extent},
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Linear and cubic Resize in float32 along any axes. For each axis, the packed data hold the taps
 * of every output index: input indices and weights. An output row is first summed over all other
 * axes from rows of the input, then resampled along the last axis. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/kernel.h"
#include "kernels/resize_taps.h"
#include "kernels/walk.h"

typedef struct tap {
    int32_t place;
    float weight;
} tap;

typedef struct axis {
    uint64_t in, out, stride; /* stride: of the input */
    uint64_t first;           /* index of the axis's first tap in the packed data */
    uint32_t taps;            /* taps of one output index; 0: the axis is not resized */
    double scale;
} axis;

typedef struct params {
    uint32_t rank, inputs;
    uint64_t rows, tap_count;
    axis axes[WALK_AXES];
} params;

/* ---- The kernel ----------------------------------------------------------------------------- */

static bool resize_interpolate_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    uint64_t stride = 1;
    *p = (params){.rank = (uint32_t)x->rank, .inputs = (uint32_t)u->input_count, .rows = 1};
    if (x->dtype != PGY_F32 || x->rank < 1 || x->rank > WALK_AXES || y->rank != x->rank)
        return false;
    if (!resize_is_interpolation(u)) return false;
    if (!kernel_count(x) || !kernel_count(y)) return false;
    for (int32_t d = x->rank - 1; d >= 0; d--) {
        axis *a = &p->axes[d];
        double at;
        *a = (axis){.in = (uint64_t)x->shape[d], .out = (uint64_t)y->shape[d], .stride = stride};
        if (!resize_read_scale(&a->scale, u, d) ||
            !resize_position(&at, u->node, a->in, a->out, a->scale, 0))
            return false;
        stride *= a->in;
        if (d + 1 < x->rank) p->rows *= a->out;
        if (a->scale == 1 && a->in == a->out) continue;
        a->taps = resize_taps_of(u->node, a->scale);
        a->first = p->tap_count;
        p->tap_count += a->taps * a->out;
        if (a->taps > RESIZE_MAX_TAPS || a->in > INT32_MAX || p->tap_count > UINT32_MAX)
            return false;
    }
    return true;
}

static bool resize_interpolate_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!resize_interpolate_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)kernel_count(&u->outputs[0]) * 3 + (double)p.rows * 20;
    return true;
}

static pgy_status resize_interpolate_prepare(kernel_plan *out, const kernel_problem *u,
                                             pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)resize_interpolate_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->packed_bytes = (p->tap_count + 1) * sizeof(tap);
    out->scratch_bytes = p->axes[p->rank - 1].in * sizeof(float);
    tap *taps = mem_alloc_aligned(64, out->packed_bytes);
    if (!taps) {
        kernel_plan_deinit(out);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    memset(taps, 0, out->packed_bytes);
    out->packed = taps;
    for (uint32_t d = 0; d < p->rank; d++) {
        const axis *a = &p->axes[d];
        for (uint64_t o = 0; a->taps && o < a->out; o++) {
            int32_t places[RESIZE_MAX_TAPS];
            double weights[RESIZE_MAX_TAPS];
            tap *t = taps + a->first + o * a->taps;
            resize_fill_taps(places, weights, a->taps, u->node, a->in, a->out, a->scale, o);
            for (uint32_t i = 0; i < a->taps; i++)
                t[i] = (tap){.place = places[i], .weight = (float)weights[i]};
        }
    }
    const uint64_t parts = p->rows * p->axes[p->rank - 1].out / 4096 + 1;
    out->parts = (uint32_t)(parts < p->rows ? parts : p->rows);
    if (out->parts > 256) out->parts = 256;
    return PGY_OK;
}

/* Do rows, strides and offsets of taps follow from the sizes of the axes? */
static bool has_valid_axes(const params *p)
{
    uint64_t stride = 1, rows = 1, taps = 0;
    for (uint32_t d = p->rank; d-- > 0;) {
        const axis *a = &p->axes[d];
        if (!a->in || !a->out || a->in > INT32_MAX || a->out > INT32_MAX ||
            a->taps > RESIZE_MAX_TAPS)
            return false;
        if (a->stride != stride || (!a->taps && a->in != a->out)) return false;
        if (a->taps && a->first != taps) return false;
        taps = extent_add(taps, extent_mul(a->taps, a->out));
        stride = extent_mul(stride, a->in);
        if (d + 1 < p->rank) rows = extent_mul(rows, a->out);
    }
    return taps == p->tap_count && rows == p->rows && rows != EXTENT_TOO_MUCH;
}

static bool resize_interpolate_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (p->inputs != q->input_count || !p->inputs) return extent_refuse(e, "number of inputs");
    if (!p->rank || p->rank > WALK_AXES || !has_valid_axes(p)) return extent_refuse(e, "axes");
    const axis *first = &p->axes[0], *last = &p->axes[p->rank - 1];
    extent_tensor(e, 0, extent_mul(first->stride, first->in), sizeof(float));
    extent_tensor(e, p->inputs, extent_mul(p->rows, last->out), sizeof(float));
    e->packed = extent_mul(p->tap_count, sizeof(tap));
    if (last->taps) e->scratch = extent_mul(last->in, sizeof(float));
    return true;
}

/* Checks the taps at run time, because they come from the plan file, too. */
static bool resize_interpolate_are_inside(const params *p, const tap *taps)
{
    for (uint32_t d = 0; d < p->rank; d++) {
        const axis *a = &p->axes[d];
        for (uint64_t i = 0; a->taps && i < a->out * a->taps; i++)
            if ((uint64_t)taps[a->first + i].place >= a->in) return false;
    }
    return true;
}

static void resize_interpolate_add_row(float *y, const float *x, size_t n, float weight, bool first)
{
    if (first)
        for (size_t i = 0; i < n; i++) y[i] = weight * x[i];
    else
        for (size_t i = 0; i < n; i++) y[i] += weight * x[i];
}

/* Sums rows of the input over the taps of all axes but the last into y, for output row `row`. */
static void sum_rows(const params *p, float *y, const float *x, const tap *taps, size_t row)
{
    const tap *choice[WALK_AXES];
    uint32_t turn[WALK_AXES] = {0};
    uint64_t base = 0, rest = row;
    bool first = true;
    for (uint32_t d = p->rank - 1; d-- > 0; rest /= p->axes[d].out) {
        const axis *a = &p->axes[d];
        const uint64_t o = rest % a->out;
        if (a->taps)
            choice[d] = taps + a->first + o * a->taps;
        else
            base += o * a->stride;
    }
    for (;;) {
        uint64_t offset = base;
        float weight = 1;
        for (uint32_t d = 0; d + 1 < p->rank; d++) {
            if (!p->axes[d].taps) continue;
            offset += (uint64_t)choice[d][turn[d]].place * p->axes[d].stride;
            weight *= choice[d][turn[d]].weight;
        }
        if (weight != 0 || first)
            resize_interpolate_add_row(y, x + offset, p->axes[p->rank - 1].in, weight, first);
        first = false;
        uint32_t d = p->rank - 1;
        while (d-- > 0) {
            if (p->axes[d].taps && ++turn[d] < p->axes[d].taps) break;
            turn[d] = 0;
        }
        if (d == UINT32_MAX) return;
    }
}

static void resize_interpolate_run(const kernel_run *r)
{
    const params *p = r->params;
    const axis *last = &p->axes[p->rank - 1];
    const tap *taps = r->packed;
    float *sum = r->scratch;
    size_t from, to;
    if (!resize_interpolate_are_inside(p, taps)) {
        kernel_fault(r);
        return;
    }
    kernel_share(&from, &to, p->rows, r->part, r->parts);
    for (size_t row = from; row < to && !cancel_requested(); row++) {
        float *y = (float *)r->tensors[p->inputs] + row * last->out;
        sum_rows(p, last->taps ? sum : y, r->tensors[0], taps, row);
        const tap *t = last->taps ? taps + last->first : NULL;
        if (last->taps == 2) {
            for (size_t o = 0; o < last->out; o++, t += 2)
                y[o] = t[0].weight * sum[t[0].place] + t[1].weight * sum[t[1].place];
            continue;
        }
        for (size_t o = 0; last->taps && o < last->out; o++, t += last->taps) {
            float v = 0;
            for (uint32_t i = 0; i < last->taps; i++) v += t[i].weight * sum[t[i].place];
            y[o] = v;
        }
    }
}

const kernel KERNELS_resize_interpolate[] = {
    {.name = "resize_interpolate_f32",
     .version = 1,
     .ops = "Resize",
     .accept = resize_interpolate_accept,
     .prepare = resize_interpolate_prepare,
     .run = resize_interpolate_run,
     .extent = resize_interpolate_extent},
    {0},
};

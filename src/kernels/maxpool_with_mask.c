/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MaxpoolWithMask in float32. */
#include <float.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/vector_four.h"
#include "ops/class_window.h"

enum { X, MASK };
enum { PLACES = 256 }; /* of an output row, computed together */

typedef struct params {
    window w;
    uint64_t planes;
    uint64_t masks; /* product of the first two sizes of the mask */
} params;

static bool maxpool_with_mask_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[X], *mask = &u->inputs[MASK], *y = &u->outputs[0];
    pgy_error unused;
    *p = (params){0};
    if (u->input_count != 2 || x->dtype != PGY_F32 || mask->dtype != PGY_I32 || x->rank < 3 ||
        x->rank - 2 > WINDOW_MAX || mask->rank != x->rank || !kernel_count(x) ||
        !kernel_count(mask) || !kernel_count(y))
        return false;
    for (int32_t d = 2; d < x->rank; d++)
        if (mask->shape[d] != x->shape[d]) return false;
    if (window_read(&p->w, u->node, (size_t)x->rank - 2, &unused)) return false;
    window_resolve(&p->w, x->shape + 2, y->shape + 2);
    p->planes = (uint64_t)(x->shape[0] * x->shape[1]);
    p->masks = (uint64_t)(mask->shape[0] * mask->shape[1]);
    return true;
}

static bool maxpool_with_mask_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!maxpool_with_mask_describe(&p, u)) return false;
    u->inputs[X].layout = u->inputs[MASK].layout = u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)kernel_count(&u->outputs[0]) * (double)window_kernel_count(&p.w) * 2;
    return true;
}

static pgy_status maxpool_with_mask_prepare(kernel_plan *out, const kernel_problem *u,
                                            pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)maxpool_with_mask_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = (uint32_t)(p->planes < 256 ? p->planes : 256);
    return PGY_OK;
}

static bool is_valid_axis(const window *w, size_t i)
{
    return extent_between(w->kernel[i], 1, INT32_MAX) &&
           extent_between(w->stride[i], 1, INT32_MAX) && w->dilation[i] == 1 &&
           extent_between(w->begin[i], 0, INT32_MAX) && extent_between(w->in[i], 1, INT32_MAX) &&
           extent_between(w->out[i], 1, INT32_MAX);
}

/* The product of a window's sizes, which overflows to EXTENT_TOO_MUCH. */
static uint64_t product(const int64_t *sizes, size_t rank)
{
    uint64_t count = 1;
    for (size_t i = 0; i < rank; i++) count = extent_mul(count, (uint64_t)sizes[i]);
    return count;
}

static bool maxpool_with_mask_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_flag(e, &p->w.ceil_mode)) return false;
    if (q->input_count != 2) return extent_refuse(e, "number of inputs");
    if (!p->w.rank || p->w.rank > WINDOW_MAX || !p->planes || !p->masks)
        return extent_refuse(e, "sizes");
    for (size_t i = 0; i < p->w.rank; i++)
        if (!is_valid_axis(&p->w, i)) return extent_refuse(e, "window");
    if (product(p->w.kernel, p->w.rank) > INT32_MAX) return extent_refuse(e, "window");
    const uint64_t size = product(p->w.in, p->w.rank);
    extent_tensor(e, X, extent_mul(p->planes, size), sizeof(float));
    extent_tensor(e, MASK, extent_mul(p->masks, size), sizeof(int32_t));
    extent_tensor(e, 2, extent_mul(p->planes, product(p->w.out, p->w.rank)), sizeof(float));
    return true;
}

/* Four elements that lie `step` apart, which is 1 or 2; nothing behind the last one is read. */
__attribute__((always_inline)) static inline four_mask take_four(const void *from, size_t step)
{
    four_mask a, b;
    memcpy(&a, from, sizeof a);
    if (step == 1) return a;
    memcpy(&b, (const char *)from + 3 * sizeof(float), sizeof b);
    return __builtin_shufflevector(a, b, 0, 2, 5, 7);
}

/* Reads one element of the window at each of n places: y is their maximum so far, and `open` has
 * all bits set where none was masked. Masks are data, which no branch would predict. */
__attribute__((always_inline)) static inline void add_column(float *y, int32_t *open,
                                                             const float *x, const int32_t *mask,
                                                             size_t n, size_t step)
{
    size_t i = 0;
    for (; step <= 2 && i + 4 <= n; i += 4) {
        const four v = (four)take_four(x + i * step, step), before = four_load(y + i);
        const four_mask ways = take_four(open + i, 1) & (take_four(mask + i * step, step) != 0);
        const four_mask more = ways & (v > before);
        memcpy(open + i, &ways, sizeof ways);
        four_store(y + i, (four)(((four_mask)v & more) | ((four_mask)before & ~more)));
    }
    for (; i < n; i++) {
        if (!mask[i * step]) open[i] = 0;
        if (open[i] && x[i * step] > y[i]) y[i] = x[i * step];
    }
}

/* Reads a row of the window at places [at, at + n) of an output row, up to its first masked
 * element. */
static void add_places(float *y, const window *w, const float *x, const int32_t *mask, int64_t at,
                       int64_t n)
{
    const size_t last = w->rank - 1;
    const int64_t stride = w->stride[last];
    int32_t open[PLACES];
    for (int64_t i = 0; i < n; i++) open[i] = -1;
    for (int64_t k = 0; k < w->kernel[last]; k++) {
        const int64_t shift = k - w->begin[last]; /* place i reads column i * stride + shift */
        const int64_t least = shift < 0 ? (stride - 1 - shift) / stride : 0;
        const int64_t end = shift < w->in[last] ? (w->in[last] - 1 - shift) / stride + 1 : 0;
        const int64_t from = least > at ? least : at, to = end < at + n ? end : at + n;
        if (from >= to) continue;
        const float *values = x + from * stride + shift;
        const int32_t *masks = mask + from * stride + shift;
        const size_t count = (size_t)(to - from);
        if (stride == 1)
            add_column(y + from, open + (from - at), values, masks, count, 1);
        else if (stride == 2)
            add_column(y + from, open + (from - at), values, masks, count, 2);
        else
            add_column(y + from, open + (from - at), values, masks, count, (size_t)stride);
    }
}

/* Does the same for the first row of a plane, whose first element is never masked. */
static void add_first(float *y, const window *w, const float *x, const int32_t *mask)
{
    const size_t last = w->rank - 1;
    for (int64_t i = 0; i < w->out[last]; i++) {
        const int64_t first = i * w->stride[last] - w->begin[last], end = first + w->kernel[last];
        const int64_t to = end < w->in[last] ? end : w->in[last];
        for (int64_t column = first < 0 ? 0 : first; column < to; column++) {
            if (!mask[column] && column) break;
            y[i] = x[column] > y[i] ? x[column] : y[i];
        }
    }
}

static void add_row(float *y, const window *w, const float *x, const int32_t *mask, size_t in_row)
{
    const size_t last = w->rank - 1, start = in_row * (size_t)w->in[last];
    if (!in_row) {
        add_first(y, w, x, mask);
        return;
    }
    for (int64_t at = 0; at < w->out[last]; at += PLACES)
        add_places(y, w, x + start, mask + start, at,
                   w->out[last] - at < PLACES ? w->out[last] - at : PLACES);
}

static void maxpool_with_mask_run(const kernel_run *r)
{
    const params *p = r->params;
    const window *w = &p->w;
    const size_t size = window_in_count(w), rows = window_out_rows(w), taps = window_taps(w);
    const size_t width = (size_t)w->out[w->rank - 1];
    size_t from, to;
    kernel_share(&from, &to, p->planes, r->part, r->parts);
    for (size_t plane = from; plane < to; plane++) {
        /* as the definition says, an element's number, modulo the number of masks */
        const int32_t *mask = (const int32_t *)r->tensors[MASK] + plane * size % p->masks;
        const float *x = (const float *)r->tensors[X] + plane * size;
        float *y = (float *)r->tensors[2] + plane * rows * width;
        for (size_t row = 0; row < rows && !cancel_requested(); row++, y += width) {
            for (size_t i = 0; i < width; i++) y[i] = -FLT_MAX;
            for (size_t tap = 0; tap < taps; tap++) {
                size_t in_row;
                if (window_row(w, row, tap, &in_row)) add_row(y, w, x, mask, in_row);
            }
        }
    }
}

const kernel KERNELS_maxpool_with_mask[] = {
    {.name = "maxpool_with_mask",
     .version = 1,
     .ops = "com.microsoft:MaxpoolWithMask",
     .accept = maxpool_with_mask_accept,
     .prepare = maxpool_with_mask_prepare,
     .run = maxpool_with_mask_run,
     .extent = maxpool_with_mask_extent},
    {0},
};

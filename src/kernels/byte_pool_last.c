/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of bytes whose channels are last: com.microsoft NhwcMaxPool, and QLinearAveragePool and
 * QLinearGlobalAveragePool with attribute channels_last. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/byte_pool_scales.h"
#include "kernels/extent.h"
#include "kernels/int_problem.h"
#include "kernels/pixel_taps.h"
#include "kernels/shared_params.h"
#include "ops/class_window.h"

/* MAX_PIXELS: of an image whose sums fit int32. */
enum { MAX_TAPS = BYTE_LINES, MAX_PIXELS = 1 << 22 };

typedef byte_pool_last_params params;

static bool read_window(params *p, const kernel_problem *u)
{
    window w;
    const kernel_tensor *x = &u->inputs[0];
    const size_t rank = (size_t)x->rank - 2;
    uint64_t taps = 1;
    if (rank > PIXEL_AXES || window_read(&w, u->node, rank, NULL) || !w.kernel[0]) return false;
    window_resolve(&w, x->shape + 1, u->outputs[0].shape + 1);
    for (size_t d = 0; d < PIXEL_AXES; d++) {
        p->w.size[d] = p->w.out[d] = p->w.kernel[d] = p->w.stride[d] = p->w.dilation[d] = 1;
        if (d + rank < PIXEL_AXES) continue;
        const size_t i = d + rank - PIXEL_AXES;
        p->w.size[d] = w.in[i];
        p->w.out[d] = w.out[i];
        p->w.kernel[d] = w.kernel[i];
        p->w.stride[d] = w.stride[i];
        p->w.dilation[d] = w.dilation[i];
        p->w.pad[d] = w.begin[i];
        p->end[d] = w.end[i];
        if (w.begin[i] < 0 || w.end[i] < 0 || w.kernel[i] > MAX_TAPS) return false;
        taps *= (uint64_t)w.kernel[i];
    }
    return taps <= MAX_TAPS;
}

static bool byte_pool_last_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const char *name = u->node->def->name;
    *p = (params){.inputs = (uint32_t)u->input_count, .flip = x->dtype == PGY_I8 ? 0x80 : 0};
    p->mean = strcmp(name, "NhwcMaxPool") != 0;
    p->global = strcmp(name, "QLinearGlobalAveragePool") == 0;
    p->count_padding = p->mean && op_attr_int(u->node, "count_include_pad", 0) != 0;
    if (!int_problem_is_byte(x) || !int_problem_is_byte(y) || x->rank < 3 || !kernel_count(x) ||
        !kernel_count(y))
        return false;
    if (p->mean &&
        (!op_attr_int(u->node, "channels_last", 0) || !byte_pool_scales_read(&p->scales, u)))
        return false;
    p->batch = (uint64_t)x->shape[0];
    p->channels = p->w.pixel = (uint64_t)x->shape[x->rank - 1];
    if (!p->global) return read_window(p, u);
    p->w.size[2] = (int64_t)(kernel_count(x) / (p->batch * p->channels));
    return p->w.size[2] <= MAX_PIXELS;
}

/* Units of work: lines of output positions, or the images of a global pool. */
static uint64_t byte_pool_last_units(const params *p)
{
    return p->batch * (p->global ? 1 : (uint64_t)(p->w.out[0] * p->w.out[1]));
}

static bool byte_pool_last_accept(kernel_problem *u, double *cost_ns)
{
    const double ns = u->self->rates[0];
    params p;
    if (!byte_pool_last_describe(&p, u)) return false;
    int_problem_linear(u);
    double taps = (double)kernel_count(&u->inputs[0]);
    if (!p.global)
        taps = (double)kernel_count(&u->outputs[0]) *
               (double)(p.w.kernel[0] * p.w.kernel[1] * p.w.kernel[2]);
    *cost_ns = 200 + taps * ns + (double)kernel_count(&u->outputs[0]) * (p.mean ? 1.5 : 0.1);
    return true;
}

static pgy_status byte_pool_last_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)byte_pool_last_describe(p, u); /* cannot fail after `accept` */
    p->level = u->self->needs;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t units = byte_pool_last_units(p);
    out->parts = (uint32_t)(units < 256 ? units : 256);
    out->scratch_bytes = p->channels * sizeof(int32_t);
    return PGY_OK;
}

static bool has_valid_axes(const params *p)
{
    const int64_t most = INT32_MAX;
    uint64_t taps = 1;
    for (int d = 0; d < PIXEL_AXES; d++) {
        if (!extent_between(p->w.size[d], 1, most) || !extent_between(p->w.out[d], 1, most) ||
            !extent_between(p->w.kernel[d], 1, MAX_TAPS + 1) ||
            !extent_between(p->w.stride[d], 1, most) ||
            !extent_between(p->w.dilation[d], 1, most) || !extent_between(p->w.pad[d], 0, most) ||
            !extent_between(p->end[d], 0, most))
            return false;
        taps *= (uint64_t)p->w.kernel[d];
    }
    return taps <= MAX_TAPS;
}

static bool byte_pool_last_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count) return extent_refuse(e, "number of inputs");
    if (!p->channels || p->channels != p->w.pixel) return extent_refuse(e, "channels");
    if (!byte_pool_scales_are_valid(&p->scales)) return extent_refuse(e, "zero points");
    if (p->global && !extent_between(p->w.size[2], 1, MAX_PIXELS + 1))
        return extent_refuse(e, "number of pixels");
    if (!p->global && !has_valid_axes(p)) return extent_refuse(e, "window");
    const uint64_t one[] = {1, 1, 1};
    uint64_t in[PIXEL_AXES], out[PIXEL_AXES];
    for (int d = 0; d < PIXEL_AXES; d++) {
        in[d] = p->global && d < 2 ? one[d] : (uint64_t)p->w.size[d];
        out[d] = p->global ? one[d] : (uint64_t)p->w.out[d];
    }
    extent_tensor(e, 0, p->batch, extent_mul(extent_product(in, PIXEL_AXES), p->channels));
    extent_tensor(e, p->inputs, p->batch, extent_mul(extent_product(out, PIXEL_AXES), p->channels));
    e->scratch = extent_mul(p->channels, sizeof(int32_t));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static void run_global(const params *p, const kernel_run *r, size_t image)
{
    const byte_loops *loops = byte_loops_of((cpu_level)p->level);
    const size_t count = (size_t)p->w.size[2], n = p->channels;
    const uint8_t *x = (const uint8_t *)r->tensors[0] + image * count * n;
    const uint8_t *list[BYTE_LINES];
    const byte_mean m = byte_pool_mean(&p->scales, (int64_t)count, (int64_t)count);
    memset(r->scratch, 0, n * sizeof(int32_t));
    for (size_t at = 0; at < count && !cancel_requested(); at += BYTE_LINES) {
        const size_t lines = count - at < BYTE_LINES ? count - at : BYTE_LINES;
        for (size_t i = 0; i < lines; i++) list[i] = x + (at + i) * n;
        loops->sum_of(r->scratch, list, lines, n, p->flip);
    }
    loops->mean((uint8_t *)r->tensors[p->inputs] + image * n, r->scratch, n, &m);
}

/* The number of taps of axis d that count for the mean. */
static int64_t count_taps(const params *p, size_t d, int64_t o)
{
    int64_t from, to;
    const int64_t start = pixel_range(&p->w, d, o, &from, &to), limit = p->w.size[d] + p->end[d];
    if (!p->count_padding) return to - from;
    const int64_t step = p->w.dilation[d];
    const int64_t fit = start < limit ? (limit - start + step - 1) / step : 0;
    return fit < p->w.kernel[d] ? fit : p->w.kernel[d];
}

static void run_line(const params *p, const kernel_run *r, size_t index)
{
    const byte_loops *loops = byte_loops_of((cpu_level)p->level);
    const size_t per_image = (size_t)(p->w.out[0] * p->w.out[1]), n = p->channels;
    const size_t line = index % per_image;
    const size_t in = (size_t)(p->w.size[0] * p->w.size[1] * p->w.size[2]) * n;
    const uint8_t *list[MAX_TAPS];
    uint8_t *y = (uint8_t *)r->tensors[p->inputs] + index * (size_t)p->w.out[2] * n;
    const int64_t counted = count_taps(p, 0, (int64_t)line / p->w.out[1]) *
                            count_taps(p, 1, (int64_t)line % p->w.out[1]);
    pixel_line l;
    pixel_line_start(&l, &p->w, (const uint8_t *)r->tensors[0] + index / per_image * in, NULL,
                     line);
    for (int64_t o = 0; o < p->w.out[2]; o++, y += n) {
        pixel_line_list(&l, list, list, o);
        if (p->mean) {
            const byte_mean m =
                byte_pool_mean(&p->scales, (int64_t)l.count, counted * count_taps(p, 2, o));
            memset(r->scratch, 0, n * sizeof(int32_t));
            loops->sum_of(r->scratch, list, l.count, n, p->flip);
            loops->mean(y, r->scratch, n, &m);
        } else if (l.count) {
            loops->max_of(y, list, l.count, n, p->flip);
        } else {
            memset(y, p->flip, n); /* the smallest value */
        }
    }
}

static void byte_pool_last_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, byte_pool_last_units(p), r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        if (p->global)
            run_global(p, r, i);
        else
            run_line(p, r, i);
    }
}

#define ROW(suffix, level, ns)                                               \
    {                                                                        \
        .name = "byte_pool_last_" #suffix, .version = 1,                     \
        .ops = "com.microsoft:NhwcMaxPool com.microsoft:QLinearAveragePool " \
               "com.microsoft:QLinearGlobalAveragePool",                     \
        .needs = level, .rates = {ns}, .accept = byte_pool_last_accept,      \
        .prepare = byte_pool_last_prepare, .run = byte_pool_last_run,        \
        .extent = byte_pool_last_extent                                      \
    }
const kernel KERNELS_byte_pool_last[] = {
    ROW(portable, CPU_PORTABLE, 0.3),
    ROW(avx2, CPU_AVX2, 0.1),
    ROW(avx512, CPU_AVX512, 0.03),
    {0},
};

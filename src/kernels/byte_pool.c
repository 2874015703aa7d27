/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of bytes, plane by plane: MaxPool, and com.microsoft QLinearAveragePool and
 * QLinearGlobalAveragePool, whose sums are exact. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/byte_pool_scales.h"
#include "kernels/extent.h"
#include "kernels/int_problem.h"
#include "kernels/pool_axes.h"
#include "kernels/shared_params.h"

/* MAX_TAPS: of a mean's window, so that its sum fits int32. */
enum { MAX_TAPS = 1 << 22 };

typedef byte_pool_params params;

static uint64_t count_window(const params *p)
{
    return extent_mul3((uint64_t)p->axes.window[0], (uint64_t)p->axes.window[1],
                       (uint64_t)p->axes.window[2]);
}

static bool byte_pool_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const char *name = u->node->def->name;
    *p = (params){.inputs = (uint32_t)u->input_count,
                  .flip = x->dtype == PGY_I8 ? 0x80 : 0,
                  .count_padding = op_attr_int(u->node, "count_include_pad", 0) != 0};
    p->kind = strcmp(name, "MaxPool") == 0              ? BYTE_POOL_MAX
              : strcmp(name, "QLinearAveragePool") == 0 ? BYTE_POOL_MEAN
                                                        : BYTE_POOL_MEAN_OF_ALL;
    if (!int_problem_is_byte(x) || !int_problem_is_byte(y) || x->rank < 3 || !kernel_count(x) ||
        !kernel_count(y) || op_attr_int(u->node, "channels_last", 0))
        return false;
    if (u->output_count > 1 && u->outputs[1].dtype) return false; /* Indices output of MaxPool */
    p->planes = (uint64_t)(x->shape[0] * x->shape[1]);
    if (p->kind == BYTE_POOL_MAX) return x->rank <= 2 + POOL_AXES && pool_axes_read(&p->axes, u);
    if (!byte_pool_scales_read(&p->scales, u)) return false;
    if (p->kind == BYTE_POOL_MEAN)
        return x->rank <= 2 + POOL_AXES && pool_axes_read(&p->axes, u) &&
               count_window(p) <= MAX_TAPS;
    p->axes.in[0] = p->axes.in[1] = p->axes.out[0] = p->axes.out[1] = p->axes.out[2] = 1;
    p->axes.in[2] = (int64_t)(kernel_count(x) / p->planes);
    return true;
}

/* Columns that windows cover, padding included. */
static size_t padded_width(const params *p)
{
    const int64_t met = (p->axes.out[2] - 1) * p->axes.stride[2] +
                        (p->axes.window[2] - 1) * p->axes.dilation[2] + 1;
    const int64_t real = p->axes.begin[2] + p->axes.in[2];
    return (size_t)(met > real ? met : real);
}

/* Two rows: maxima or sums over the window's rows, then over its columns, too. */
static uint64_t scratch_bytes(const params *p)
{
    if (p->kind == BYTE_POOL_MAX) return 2 * (uint64_t)padded_width(p);
    if (p->kind == BYTE_POOL_MEAN_OF_ALL) return 0;
    return (uint64_t)(p->axes.in[2] + p->axes.out[2]) * sizeof(int32_t);
}

static bool byte_pool_accept(kernel_problem *u, double *cost_ns)
{
    const double ns = u->self->rates[0];
    params p;
    if (!byte_pool_describe(&p, u)) return false;
    int_problem_linear(u);
    *cost_ns = 200 + (double)kernel_count(&u->inputs[0]) * ns;
    if (p.kind != BYTE_POOL_MEAN_OF_ALL)
        *cost_ns += (double)kernel_count(&u->outputs[0]) *
                    (double)(p.axes.window[0] * p.axes.window[1] * p.axes.window[2]) * ns;
    return true;
}

static pgy_status byte_pool_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)byte_pool_describe(p, u); /* cannot fail after `accept` */
    p->level = u->self->needs;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = (uint32_t)(p->planes < 256 ? p->planes : 256);
    out->scratch_bytes = scratch_bytes(p);
    return PGY_OK;
}

/* Sizes below 2^31 keep products of two within int64_t, those of windows sums within int32_t. */
static bool has_valid_axes(const params *p)
{
    const int64_t most = INT32_MAX, taps = MAX_TAPS;
    if (p->kind == BYTE_POOL_MEAN && count_window(p) > MAX_TAPS) return false;
    for (int d = 0; d < POOL_AXES; d++) {
        if (!extent_between(p->axes.in[d], 1, most) || !extent_between(p->axes.out[d], 1, most))
            return false;
        if (p->kind == BYTE_POOL_MEAN_OF_ALL) continue;
        if (!extent_between(p->axes.window[d], 1, taps) ||
            !extent_between(p->axes.stride[d], 1, most) ||
            !extent_between(p->axes.dilation[d], 1, most) ||
            !extent_between(p->axes.begin[d], 0, most) || !extent_between(p->axes.end[d], 0, most))
            return false;
    }
    return true;
}

static bool byte_pool_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) ||
        !extent_enum(e, p->kind, BYTE_POOL_MEAN_OF_ALL + 1, "kind"))
        return false;
    if (p->inputs != q->input_count) return extent_refuse(e, "number of inputs");
    if (!has_valid_axes(p)) return extent_refuse(e, "window");
    if (!byte_pool_scales_are_valid(&p->scales)) return extent_refuse(e, "zero points");
    const uint64_t in =
        extent_mul3((uint64_t)p->axes.in[0], (uint64_t)p->axes.in[1], (uint64_t)p->axes.in[2]);
    const uint64_t out =
        extent_mul3((uint64_t)p->axes.out[0], (uint64_t)p->axes.out[1], (uint64_t)p->axes.out[2]);
    extent_tensor(e, 0, p->planes, in);
    extent_tensor(e, p->inputs, p->planes, out);
    e->scratch = scratch_bytes(p);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Finds the taps [from, to) of axis d that fall inside the input at output position o. Returns the
 * input coordinate of tap 0. */
static int64_t byte_pool_find_taps(const params *p, size_t d, int64_t o, int64_t *from, int64_t *to)
{
    const int64_t start = o * p->axes.stride[d] - p->axes.begin[d], step = p->axes.dilation[d];
    *from = start < 0 ? (-start + step - 1) / step : 0;
    *to = start < p->axes.in[d] ? (p->axes.in[d] - start + step - 1) / step : 0;
    if (*to > p->axes.window[d]) *to = p->axes.window[d];
    if (*from > *to) *from = *to;
    return start;
}

/* The number of taps of axis d that count for the mean. */
static int64_t count_taps(const params *p, size_t d, int64_t o)
{
    int64_t from, to;
    const int64_t start = byte_pool_find_taps(p, d, o, &from, &to),
                  limit = p->axes.in[d] + p->axes.end[d];
    if (!p->count_padding) return to - from;
    const int64_t fit =
        start < limit ? (limit - start + p->axes.dilation[d] - 1) / p->axes.dilation[d] : 0;
    return fit < p->axes.window[d] ? fit : p->axes.window[d];
}

/* The rows of the window at an output row: taps [from, to) of the first two axes, which begin at
 * input coordinates `start`. */
typedef struct window_rows {
    int64_t from[2], to[2], start[2];
} window_rows;

static window_rows find_rows(const params *p, int64_t row)
{
    window_rows w;
    const int64_t at[2] = {row / p->axes.out[1], row % p->axes.out[1]};
    for (size_t d = 0; d < 2; d++)
        w.start[d] = byte_pool_find_taps(p, d, at[d], &w.from[d], &w.to[d]);
    return w;
}

static const uint8_t *row_of(const params *p, const window_rows *w, const uint8_t *x, int64_t z,
                             int64_t y)
{
    const int64_t slice = w->start[0] + z * p->axes.dilation[0],
                  line = w->start[1] + y * p->axes.dilation[1];
    return x + (slice * p->axes.in[1] + line) * p->axes.in[2];
}

/* `line` holds the row with the window's padding, and has room for a second row of the same
 * size. */
static void byte_pool_max_row(const params *p, const byte_loops *loops, const uint8_t *x,
                              uint8_t *y, int64_t row, uint8_t *line)
{
    const window_rows w = find_rows(p, row);
    const size_t width = (size_t)p->axes.in[2], padded = padded_width(p);
    uint8_t *most = line + padded;
    const size_t reach = (size_t)((p->axes.window[2] - 1) * p->axes.dilation[2]);
    memset(line, p->flip, padded); /* the smallest value */
    for (int64_t d = w.from[0]; d < w.to[0]; d++)
        for (int64_t k = w.from[1]; k < w.to[1]; k++)
            loops->max(line + p->axes.begin[2], row_of(p, &w, x, d, k), width, p->flip);
    memcpy(most, line, padded);
    for (size_t k = 1; k < (size_t)p->axes.window[2]; k++)
        loops->max(most, line + k * (size_t)p->axes.dilation[2], padded - reach, p->flip);
    if (p->axes.stride[2] == 1)
        memcpy(y, most, (size_t)p->axes.out[2]);
    else if (p->axes.stride[2] == 2)
        for (int64_t o = 0; o < p->axes.out[2]; o++) y[o] = most[o * 2];
    else
        for (int64_t o = 0; o < p->axes.out[2]; o++) y[o] = most[o * p->axes.stride[2]];
}

/* The output columns [*from, *to) whose windows lie inside the row. */
static void inner_columns(const params *p, int64_t *from, int64_t *to)
{
    const int64_t room =
        p->axes.in[2] + p->axes.begin[2] - (p->axes.window[2] - 1) * p->axes.dilation[2] - 1;
    *from = (p->axes.begin[2] + p->axes.stride[2] - 1) / p->axes.stride[2];
    *to = room < 0 ? 0 : room / p->axes.stride[2] + 1;
    if (*to > p->axes.out[2]) *to = p->axes.out[2];
    if (*from > *to) *from = *to;
}

static void add_columns(int32_t *sums, const int32_t *line, size_t n, size_t step)
{
    if (step == 1)
        for (size_t i = 0; i < n; i++) sums[i] += line[i];
    else if (step == 2)
        for (size_t i = 0; i < n; i++) sums[i] += line[2 * i];
    else
        for (size_t i = 0; i < n; i++) sums[i] += line[i * step];
}

/* `line` has room for an input row, then for an output row. */
static void mean_row(const params *p, const byte_loops *loops, const uint8_t *x, uint8_t *y,
                     int64_t row, int32_t *line)
{
    const window_rows w = find_rows(p, row);
    const size_t width = (size_t)p->axes.in[2];
    const int64_t rows = (w.to[0] - w.from[0]) * (w.to[1] - w.from[1]);
    const int64_t counted =
        count_taps(p, 0, row / p->axes.out[1]) * count_taps(p, 1, row % p->axes.out[1]);
    int32_t *sums = line + width;
    int64_t from, to, inner, inner_end;
    memset(line, 0, (width + (size_t)p->axes.out[2]) * sizeof *line);
    for (int64_t d = w.from[0]; d < w.to[0]; d++)
        for (int64_t k = w.from[1]; k < w.to[1]; k++)
            loops->add(line, row_of(p, &w, x, d, k), width, p->flip);
    inner_columns(p, &inner, &inner_end);
    for (int64_t o = 0; o < p->axes.out[2]; o++) {
        if (o == inner) o = inner_end;
        if (o >= p->axes.out[2]) break;
        int64_t sum = 0;
        const int64_t left = byte_pool_find_taps(p, 2, o, &from, &to);
        for (int64_t k = from; k < to; k++) sum += line[left + k * p->axes.dilation[2]];
        const byte_mean m =
            byte_pool_mean(&p->scales, rows * (to - from), counted * count_taps(p, 2, o));
        y[o] = byte_mean_exact(sum, &m);
    }
    if (inner >= inner_end) return;
    const int32_t *first = line + inner * p->axes.stride[2] - p->axes.begin[2];
    for (int64_t k = 0; k < p->axes.window[2]; k++)
        add_columns(sums, first + k * p->axes.dilation[2], (size_t)(inner_end - inner),
                    (size_t)p->axes.stride[2]);
    const byte_mean m =
        byte_pool_mean(&p->scales, rows * p->axes.window[2], counted * p->axes.window[2]);
    loops->mean(y + inner, sums, (size_t)(inner_end - inner), &m);
}

static void byte_pool_run(const kernel_run *r)
{
    const params *p = r->params;
    const byte_loops *loops = byte_loops_of((cpu_level)p->level);
    const size_t in = (size_t)(p->axes.in[0] * p->axes.in[1] * p->axes.in[2]);
    const int64_t rows = p->axes.out[0] * p->axes.out[1];
    size_t from, to;
    kernel_share(&from, &to, p->planes, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const uint8_t *x = (const uint8_t *)r->tensors[0] + i * in;
        uint8_t *y = (uint8_t *)r->tensors[p->inputs] + i * (size_t)(rows * p->axes.out[2]);
        if (p->kind == BYTE_POOL_MEAN_OF_ALL) {
            const byte_mean m = byte_pool_mean(&p->scales, (int64_t)in, (int64_t)in);
            *y = byte_mean_exact(loops->sum(x, in, p->flip), &m);
            continue;
        }
        for (int64_t row = 0; row < rows; row++, y += p->axes.out[2]) {
            if (p->kind == BYTE_POOL_MAX)
                byte_pool_max_row(p, loops, x, y, row, r->scratch);
            else
                mean_row(p, loops, x, y, row, r->scratch);
        }
    }
}

#define ROW(suffix, level, ns)                                                                   \
    {                                                                                            \
        .name = "byte_pool_" #suffix, .version = 2,                                              \
        .ops = "MaxPool com.microsoft:QLinearAveragePool "                                       \
               "com.microsoft:QLinearGlobalAveragePool",                                         \
        .needs = level, .rates = {ns}, .accept = byte_pool_accept, .prepare = byte_pool_prepare, \
        .run = byte_pool_run, .extent = byte_pool_extent                                         \
    }
const kernel KERNELS_byte_pool[] = {
    ROW(portable, CPU_PORTABLE, 1),
    ROW(avx2, CPU_AVX2, 0.3),
    ROW(avx512, CPU_AVX512, 0.3),
    {0},
};

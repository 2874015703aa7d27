/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions with one input channel per group. Each plane is copied with padded rows and with
 * spare elements behind the end, which vector loads may read. So the loop over an output row needs
 * no checks at the edges. */
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "ops/class_conv.h"
#include "ops/class_rows.h"
#include "ops/gemm.h"

enum { LANES = 8 };
typedef double vec __attribute__((vector_size(LANES * sizeof(double))));

/* The operands of one output row: the padded input rows that it reads, and the weights for each of
 * them. */
typedef struct depthwise_row {
    const double **lines, **weights;
    size_t line_count, taps, count;
    size_t stride, dilation;
    double bias;
} depthwise_row;

/* Macros, because a function would not have the target attribute (AVX2, ...) of its caller. */
#define spread(x) ((vec){x, x, x, x, x, x, x, x})
#define load(p)                    \
    ({                             \
        vec v_;                    \
        memcpy(&v_, p, sizeof v_); \
        v_;                        \
    })
/* Loads elements 0, 2, ... 14 of p, and reads nothing beyond element 14. */
#define load_second(p) __builtin_shufflevector(load(p), load((p) + 7), 0, 2, 4, 6, 9, 11, 13, 15)
#define load_each(p, s)                                                                          \
    ((vec){(p)[0], (p)[s], (p)[2 * (s)], (p)[3 * (s)], (p)[4 * (s)], (p)[5 * (s)], (p)[6 * (s)], \
           (p)[7 * (s)]})
#define store_some(p, v, n) memcpy(p, &(v), (n) < LANES ? (n) * sizeof(double) : sizeof(v))

#define NAME row_portable
#define TARGET
#include "ops/class_conv_depthwise.inc"

typedef void (*row_function)(const depthwise_row *r, double *y);

#if defined(__x86_64__)
#define NAME row_avx2
#define TARGET __attribute__((target("avx2")))
#include "ops/class_conv_depthwise.inc"

#define NAME row_avx512
#define TARGET __attribute__((target("avx512f")))
#include "ops/class_conv_depthwise.inc"

static row_function choose(void)
{
    const cpu_level level = cpu_features();
    return level >= CPU_AVX512 ? row_avx512 : level >= CPU_AVX2 ? row_avx2 : row_portable;
}
#else
static row_function choose(void)
{
    return row_portable;
}
#endif

typedef struct depthwise_job {
    const conv_problem *p;
    row_function run;
    size_t width; /* length of a padded row */
    atomic_bool failed;
} depthwise_job;

static void pad_plane(double *to, const double *x, const window *w, size_t width)
{
    const size_t last = w->rank - 1, in = (size_t)w->in[last], rows = window_in_rows(w);
    const int64_t begin = w->begin[last];
    const size_t skipped = begin < 0 ? (size_t)-begin : 0, left = begin > 0 ? (size_t)begin : 0;
    size_t kept = skipped < in ? in - skipped : 0;
    if (left >= width) kept = 0;
    if (kept > width - left) kept = width - left;
    memset(to, 0, rows * width * sizeof *to);
    if (!kept) return;
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * width + left, x + i * in + skipped, kept * sizeof *to);
}

static void run_plane(const depthwise_job *job, depthwise_row *r, const double *weights,
                      const double *padded, double *y)
{
    const window *w = &job->p->window;
    const size_t taps = window_taps(w), rows = window_out_rows(w);
    for (size_t row = 0; row < rows; row++, y += r->count) {
        r->line_count = 0;
        for (size_t tap = 0; tap < taps; tap++) {
            size_t in_row;
            if (!window_row(w, row, tap, &in_row)) continue;
            r->lines[r->line_count] = padded + in_row * job->width;
            r->weights[r->line_count++] = weights + tap * r->taps;
        }
        job->run(r, y);
    }
}

static void run_planes(size_t begin, size_t end, void *user)
{
    depthwise_job *job = user;
    const conv_problem *p = job->p;
    const window *w = &p->window;
    const size_t channels = p->groups * p->out_channels, kernel = window_kernel_count(w);
    const size_t last = w->rank - 1, taps = window_taps(w), plane = window_in_count(w);
    double *padded = mem_alloc(((window_in_rows(w) + 1) * job->width + kernel) * sizeof *padded);
    const double **lines = mem_alloc(2 * taps * sizeof *lines);
    depthwise_row r = {.lines = lines,
                       .weights = lines + taps,
                       .taps = (size_t)w->kernel[last],
                       .count = (size_t)w->out[last],
                       .stride = (size_t)w->stride[last],
                       .dilation = (size_t)w->dilation[last]};
    if (!padded || !lines) atomic_store(&job->failed, true);
    for (size_t i = begin; padded && lines && i < end; i++) {
        const size_t channel = i % channels;
        const size_t in_plane = i / channels * p->groups + channel / p->out_channels;
        double *weights = padded + (window_in_rows(w) + 1) * job->width;
        if (i == begin || channel % p->out_channels == 0)
            pad_plane(padded, p->x + in_plane * plane, w, job->width);
        if (p->w_single)
            gemm_widen(weights, p->w_single + channel * kernel, kernel);
        else
            memcpy(weights, p->w + channel * kernel, kernel * sizeof *weights);
        r.bias = p->bias ? p->bias[channel] : 0;
        run_plane(job, &r, weights, padded, p->y + i * window_out_count(w));
    }
    mem_free(padded);
    mem_free(lines);
}

pgy_status conv_run_depthwise(const conv_problem *p, pgy_error *err)
{
    const window *w = &p->window;
    const size_t last = w->rank - 1, count = p->batch * p->groups * p->out_channels;
    size_t reach, steps, extent, all;
    depthwise_job job = {.p = p, .run = choose()};
    const bool fits =
        size_mul(&reach, (size_t)w->kernel[last] - 1, (size_t)w->dilation[last]) &&
        size_mul(&steps, (size_t)w->out[last] + LANES, (size_t)w->stride[last]) &&
        size_add(&job.width, reach, steps) && size_add(&extent, window_in_rows(w), 1) &&
        size_mul(&all, extent, job.width) && size_add(&all, all, window_kernel_count(w)) &&
        size_mul(&all, all, sizeof(double));
    if (!fits)
        return pgy_error_set(err, PGY_E_MEMORY,
                             "the padded input of the convolution exceeds the address space");
    rows_run(count, window_out_count(w) * window_kernel_count(w), run_planes, &job);
    return atomic_load(&job.failed)
               ? pgy_error_set(err, PGY_E_MEMORY, "out of memory for a convolution")
               : PGY_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Linear Resize of bytes along one axis, or two neighbouring ones. An output row is first summed
 * over rows of the input, then resampled along the second axis, as the definition does it, because
 * results are truncated. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/int_problem.h"
#include "kernels/resize_taps.h"
#include "kernels/target_avx512.h"

/* SPREAD: up to so many elements behind the second axis, the packed data have taps for each. */
enum { TAPS = 2, SPREAD = 16 };

/* X is [outer, in[0], in[1], inner]; out[] of an axis that is not resized equals in[]. */
typedef struct params {
    uint64_t outer, in[2], out[2], inner;
    uint32_t resized[2];
    uint32_t level, inputs;
    uint8_t flip;
    double scale[2];
} params;

typedef struct resize_loops {
    void (*add_row)(double *sums, const uint8_t *x, size_t n, double w, uint8_t flip, bool first);
    void (*pick)(uint8_t *y, const double *sums, const int32_t *places, const double *weights,
                 size_t n);
    void (*blend)(uint8_t *y, const double *a, const double *b, size_t n, double v, double w);
} resize_loops;

#define NAME(loop) portable_##loop
#define TARGET
#include "kernels/resize_bytes.inc"
#if defined(__x86_64__)
#define NAME(loop) avx2_##loop
#define TARGET __attribute__((target("avx2")))
#include "kernels/resize_bytes.inc"
#define NAME(loop) avx512_##loop
#define TARGET TARGET_AVX512
#include "kernels/resize_bytes.inc"
#endif

static const resize_loops *loops_of(cpu_level level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &avx512_loops;
    if (level >= CPU_AVX2) return &avx2_loops;
#endif
    (void)level;
    return &portable_loops;
}

/* Puts axis d of X, which is resized if `scale` is not 0, into the problem, from the last axis on.
 * `axis`: the one that the next resized axis becomes, 1, 0 or -1. */
static bool take_axis(params *p, int *axis, uint64_t in, uint64_t out, double scale)
{
    if (scale == 0) {
        if (*axis == 1)
            p->inner *= in;
        else
            p->outer *= in;
        return true;
    }
    /* A second resized axis must be the neighbour of the first. */
    if (*axis < 0 || (*axis == 0 && p->outer != 1)) return false;
    p->in[*axis] = in;
    p->out[*axis] = out;
    p->scale[*axis] = scale;
    p->resized[(*axis)--] = 1;
    return true;
}

static bool resize_bytes_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    int axis = 1;
    *p = (params){.outer = 1,
                  .inner = 1,
                  .in = {1, 1},
                  .out = {1, 1},
                  .inputs = (uint32_t)u->input_count,
                  .flip = x->dtype == PGY_I8 ? 0x80 : 0};
    if (!int_problem_is_byte(x) || y->dtype != x->dtype || y->rank != x->rank || x->rank < 1 ||
        !kernel_count(x) || !kernel_count(y) || !resize_is_interpolation(u))
        return false;
    if (!op_attr_is(u->node, "mode", "linear", "nearest") || op_attr_int(u->node, "antialias", 0))
        return false;
    for (int32_t d = x->rank - 1; d >= 0; d--) {
        const uint64_t in = (uint64_t)x->shape[d], out = (uint64_t)y->shape[d];
        double scale, at;
        if (in > INT32_MAX || out > INT32_MAX || !resize_read_scale(&scale, u, d) ||
            !resize_position(&at, u->node, in, out, scale, 0))
            return false;
        if (!take_axis(p, &axis, in, out, scale == 1 && in == out ? 0 : scale)) return false;
    }
    /* Places count elements of the line if each has taps of its own. */
    return p->resized[1] && (p->inner > SPREAD || p->in[1] * p->inner <= INT32_MAX);
}

/* Elements with taps of their own along the second axis. */
static uint64_t pick_count(const params *p)
{
    return extent_mul(p->out[1], p->inner <= SPREAD ? p->inner : 1);
}

/* The packed data: weights of axis 0 (two for each index) and of axis 1 (those of the first taps,
 * then those of the second), then places in the same order. */
static uint64_t tap_count(const params *p)
{
    return extent_mul(TAPS, extent_add(p->out[0], pick_count(p)));
}

static uint64_t packed_bytes(const params *p)
{
    return extent_mul(tap_count(p), sizeof(double) + sizeof(int32_t));
}

static uint64_t scratch_bytes(const params *p)
{
    return extent_mul3(p->in[1], p->inner, sizeof(double));
}

static bool resize_bytes_accept(kernel_problem *u, double *cost_ns)
{
    const double ns = u->self->rates[0];
    params p;
    if (!resize_bytes_describe(&p, u)) return false;
    int_problem_linear(u);
    *cost_ns = 200 + (double)kernel_count(&u->outputs[0]) * ns +
               (double)(p.outer * p.out[0] * p.in[1] * p.inner) * ns;
    return true;
}

static void resize_bytes_pack(const params *p, const kernel_problem *u, void *packed)
{
    const size_t spread = p->inner <= SPREAD ? p->inner : 1, count = p->out[1] * spread;
    double *weights = packed;
    int32_t *places = (int32_t *)(weights + tap_count(p));
    for (uint64_t o = 0; o < p->out[0]; o++) {
        double *w = weights + TAPS * o;
        w[0] = 1;
        if (p->resized[0])
            resize_fill_taps(places + TAPS * o, w, TAPS, u->node, p->in[0], p->out[0], p->scale[0],
                             o);
    }
    weights += TAPS * p->out[0];
    places += TAPS * p->out[0];
    for (uint64_t o = 0; o < p->out[1]; o++) {
        double w[TAPS];
        int32_t at[TAPS];
        resize_fill_taps(at, w, TAPS, u->node, p->in[1], p->out[1], p->scale[1], o);
        for (size_t i = 0; i < spread; i++)
            for (size_t k = 0; k < TAPS; k++) {
                weights[k * count + o * spread + i] = w[k];
                places[k * count + o * spread + i] = at[k] * (int32_t)spread + (int32_t)i;
            }
    }
}

static pgy_status resize_bytes_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)resize_bytes_describe(p, u); /* cannot fail after `accept` */
    p->level = u->self->needs;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->packed_bytes = packed_bytes(p);
    out->scratch_bytes = scratch_bytes(p);
    out->packed = mem_alloc_aligned(64, out->packed_bytes);
    if (!out->packed) {
        kernel_plan_deinit(out);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    memset(out->packed, 0, out->packed_bytes);
    resize_bytes_pack(p, u, out->packed);
    const uint64_t rows = p->outer * p->out[0], worth = rows * p->out[1] * p->inner / 8192 + 1;
    out->parts = (uint32_t)(rows < worth ? rows : worth);
    if (out->parts > 256) out->parts = 256;
    return PGY_OK;
}

static bool resize_bytes_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count || !p->inputs) return extent_refuse(e, "number of inputs");
    for (int d = 0; d < 2; d++)
        if (!p->in[d] || !p->out[d] || p->in[d] > INT32_MAX || p->out[d] > INT32_MAX)
            return extent_refuse(e, "axes");
    if (!p->outer || !p->inner) return extent_refuse(e, "shape");
    const uint64_t line = extent_mul(p->in[1], p->inner);
    if (p->inner <= SPREAD && line > INT32_MAX) return extent_refuse(e, "line");
    extent_tensor(e, 0, extent_mul(p->outer, p->in[0]), line);
    extent_tensor(e, p->inputs, extent_mul(p->outer, p->out[0]), extent_mul(p->out[1], p->inner));
    e->packed = packed_bytes(p);
    e->scratch = scratch_bytes(p);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Are all taps inside the input, and their weights in the range that keeps sums within int32? They
 * come from the plan file, too. */
static bool are_valid(const params *p, const double *weights, const int32_t *places)
{
    const uint64_t spread = p->inner <= SPREAD ? p->inner : 1, first = TAPS * p->out[0];
    const uint64_t count = tap_count(p);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t limit = i < first ? p->in[0] : p->in[1] * spread;
        if ((uint64_t)places[i] >= limit || !(weights[i] >= 0 && weights[i] <= 1)) return false;
    }
    return true;
}

static void resize_bytes_row(const params *p, const kernel_run *r, size_t row)
{
    const resize_loops *loops = loops_of((cpu_level)p->level);
    const size_t line = p->in[1] * p->inner, o = row % p->out[0];
    const size_t count = pick_count(p);
    const double *weights = r->packed;
    const int32_t *places = (const int32_t *)(weights + tap_count(p));
    const uint8_t *x = (const uint8_t *)r->tensors[0] + row / p->out[0] * p->in[0] * line;
    uint8_t *y = (uint8_t *)r->tensors[p->inputs] + row * p->out[1] * p->inner;
    double *sums = r->scratch;
    for (size_t t = 0; t < TAPS; t++)
        if (!t || weights[TAPS * o + t] != 0)
            loops->add_row(sums, x + (size_t)places[TAPS * o + t] * line, line,
                           weights[TAPS * o + t], p->flip, !t);
    weights += TAPS * p->out[0];
    places += TAPS * p->out[0];
    if (p->inner <= SPREAD) {
        loops->pick(y, sums, places, weights, count);
        return;
    }
    for (size_t i = 0; i < p->out[1]; i++, y += p->inner)
        loops->blend(y, sums + (size_t)places[i] * p->inner,
                     sums + (size_t)places[count + i] * p->inner, p->inner, weights[i],
                     weights[count + i]);
}

static void resize_bytes_run(const kernel_run *r)
{
    const params *p = r->params;
    const double *weights = r->packed;
    size_t from, to;
    if (!are_valid(p, weights, (const int32_t *)(weights + tap_count(p)))) {
        kernel_fault(r);
        return;
    }
    kernel_share(&from, &to, p->outer * p->out[0], r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) resize_bytes_row(p, r, i);
}

#define ROW(suffix, level, ns)                                                          \
    {                                                                                   \
        .name = "resize_bytes_" #suffix, .version = 1, .ops = "Resize", .needs = level, \
        .rates = {ns}, .accept = resize_bytes_accept, .prepare = resize_bytes_prepare,  \
        .run = resize_bytes_run, .extent = resize_bytes_extent                          \
    }
const kernel KERNELS_resize_bytes[] = {
    ROW(portable, CPU_PORTABLE, 1.5),
    ROW(avx2, CPU_AVX2, 1),
    ROW(avx512, CPU_AVX512, 0.6),
    {0},
};

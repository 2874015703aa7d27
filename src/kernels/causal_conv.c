/* SPDX-License-Identifier: Apache-2.0 */
/* CausalConvWithState of both domains in float32: a line, the positions of one channel, is
 * convolved with the channel's weights over the current and earlier positions. The past state
 * supplies those before the first one. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/state_loops.h"
#include "kernels/vec_math.h"

enum { X, W, BIAS, PAST };
/* ELEMENTS: lines that one call of the activation covers have at least so many */
enum { PARTS = 256, WORTH = 8192, ELEMENTS = 1024 };

typedef struct params {
    uint64_t batch, channels, length, taps;
    uint32_t level, inputs, silu;
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

/* Is the input absent, or has it this number of elements? */
static bool fits(const kernel_problem *u, size_t input, uint64_t count)
{
    return input >= u->input_count || !u->inputs[input].dtype ||
           kernel_count(&u->inputs[input]) == count;
}

static bool causal_conv_describe(params *p, const kernel_problem *u)
{
    const op_node *n = u->node;
    const kernel_tensor *x = &u->inputs[X];
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype && u->inputs[i].dtype != PGY_F32) return false;
    for (size_t i = 0; i < u->output_count; i++)
        if (u->outputs[i].dtype && u->outputs[i].dtype != PGY_F32) return false;
    if (u->output_count != 2 || !u->outputs[0].dtype || !kernel_count(x) ||
        !kernel_count(&u->inputs[W]))
        return false;
    if (op_attr_int(n, "ndim", 1) != 1 || op_attr_int(n, "dilation", 1) != 1 ||
        op_attr_int(n, "channels_last", 0) || op_attr_int(n, "state_window", 0))
        return false;
    *p = (params){.batch = (uint64_t)x->shape[0],
                  .channels = (uint64_t)x->shape[1],
                  .length = (uint64_t)x->shape[2],
                  .taps = (uint64_t)u->inputs[W].shape[2],
                  .level = u->self->needs,
                  .inputs = (uint32_t)u->input_count,
                  .silu = !op_attr_is(n, "activation", "none", "none")};
    const uint64_t states = p->batch * p->channels * (p->taps - 1);
    return kernel_count(&u->inputs[W]) == p->channels * p->taps && fits(u, BIAS, p->channels) &&
           fits(u, PAST, states);
}

static bool causal_conv_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!causal_conv_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    const double lines = (double)(p.batch * p.channels);
    *cost_ns = 100 + lines * (double)p.taps * 2 +
               lines * (double)p.length * ((double)p.taps / 8 + 0.5) * u->self->rates[0];
    return true;
}

static pgy_status causal_conv_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)causal_conv_describe(p, u); /* cannot fail after `accept` */
    const uint64_t lines = p->batch * p->channels,
                   worth = lines * (p->length + p->taps) / WORTH + 1;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->parts = (uint32_t)(worth < lines ? worth : lines);
    if (out->parts > PARTS) out->parts = PARTS;
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool causal_conv_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count || p->inputs <= W || q->output_count != 2)
        return extent_refuse(e, "number of operands");
    if (!p->batch || !p->channels || !p->length || !p->taps) return extent_refuse(e, "sizes");
    const uint64_t lines = extent_mul(p->batch, p->channels);
    const uint64_t states = extent_mul(lines, p->taps - 1);
    extent_tensor(e, X, extent_mul(lines, p->length), sizeof(float));
    extent_tensor(e, W, extent_mul(p->channels, p->taps), sizeof(float));
    if (p->inputs > BIAS && extent_has(q, BIAS)) extent_tensor(e, BIAS, p->channels, sizeof(float));
    if (p->inputs > PAST && extent_has(q, PAST)) extent_tensor(e, PAST, states, sizeof(float));
    extent_tensor(e, p->inputs, extent_mul(lines, p->length), sizeof(float));
    if (extent_has(q, p->inputs + 1)) extent_tensor(e, p->inputs + 1, states, sizeof(float));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* One channel: its weights, and the state before and behind its positions; both may be NULL. */
typedef struct line {
    const float *x, *w, *past;
    float *y, *state;
    float bias;
} line;

/* Position i, whose window begins before the first one. */
static float edge_sum(const line *l, uint64_t taps, uint64_t i)
{
    const uint64_t outside = taps - 1 - i;
    float sum = l->bias;
    for (uint64_t k = 0; l->past && k < outside; k++) sum += l->w[k] * l->past[i + k];
    for (uint64_t k = outside; k < taps; k++) sum += l->w[k] * l->x[k - outside];
    return sum;
}

/* The last taps - 1 elements of past and line. */
static void keep_state(const line *l, uint64_t length, uint64_t taps)
{
    const uint64_t before = taps - 1, kept = length < before ? before - length : 0;
    for (uint64_t k = 0; k < kept; k++) l->state[k] = l->past ? l->past[k + length] : 0;
    for (uint64_t k = kept; k < before; k++) l->state[k] = l->x[length + k - before];
}

static inline __attribute__((always_inline)) void run_token(const line *l, uint64_t taps)
{
    l->y[0] = edge_sum(l, taps, 0);
    if (l->state) keep_state(l, 1, taps);
}

static void run_line(const params *p, const state_loops *loops, const line *l)
{
    const uint64_t before = p->taps - 1, edge = p->length < before ? p->length : before;
    for (uint64_t i = 0; i < edge; i++) l->y[i] = edge_sum(l, p->taps, i);
    if (edge < p->length)
        loops->convolve(l->y + edge, l->x, p->length - edge, l->w, p->taps, l->bias);
    if (l->state) keep_state(l, p->length, p->taps);
}

/* The line with this number, of this channel. */
static line line_of(const params *p, const kernel_run *r, size_t i, uint64_t channel)
{
    const float *bias = p->inputs > BIAS ? r->tensors[BIAS] : NULL;
    const float *past = p->inputs > PAST ? r->tensors[PAST] : NULL;
    float *state = r->tensors[p->inputs + 1];
    const uint64_t before = p->taps - 1;
    return (line){.x = (const float *)r->tensors[X] + i * p->length,
                  .w = (const float *)r->tensors[W] + channel * p->taps,
                  .past = past ? past + i * before : NULL,
                  .y = (float *)r->tensors[p->inputs] + i * p->length,
                  .state = state ? state + i * before : NULL,
                  .bias = bias ? bias[channel] : 0};
}

static void run_lines(const params *p, const kernel_run *r, size_t from, size_t to)
{
    const state_loops *loops = state_loops_of((cpu_level)p->level);
    uint64_t channel = from % p->channels;
    for (size_t i = from; i < to; i++) {
        const line l = line_of(p, r, i, channel);
        if (p->length == 1 && p->taps == 4)
            run_token(&l, 4);
        else
            run_line(p, loops, &l);
        if (++channel == p->channels) channel = 0;
    }
}

static void causal_conv_run(const kernel_run *r)
{
    const params *p = r->params;
    const size_t together = p->length < ELEMENTS ? ELEMENTS / p->length : 1;
    size_t from, to;
    kernel_share(&from, &to, p->batch * p->channels, r->part, r->parts);
    for (size_t i = from, end; i < to && !cancel_requested(); i = end) {
        float *y = (float *)r->tensors[p->inputs] + i * p->length;
        end = to - i < together ? to : i + together;
        run_lines(p, r, i, end);
        if (p->silu) vec_math_of((cpu_level)p->level)->silu(y, y, (end - i) * p->length);
    }
}

#define ROW(suffix, level, each)                                                        \
    {                                                                                   \
        .name = "causal_conv_f32_" #suffix, .version = 1,                               \
        .ops = "CausalConvWithState com.microsoft:CausalConvWithState", .needs = level, \
        .rates = {each}, .accept = causal_conv_accept, .prepare = causal_conv_prepare,  \
        .run = causal_conv_run, .extent = causal_conv_extent                            \
    }
const kernel KERNELS_causal_conv[] = {
    ROW(portable, CPU_PORTABLE, 2),
    ROW(avx2, CPU_AVX2, 0.8),
    ROW(avx512, CPU_AVX512, 0.4),
    {0},
};

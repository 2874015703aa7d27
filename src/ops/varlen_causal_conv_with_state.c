/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft VarlenCausalConvWithState: CausalConvWithState over packed sequences [tokens,
 * channels] of different lengths, with steps of `dilation` tokens between the weights of a kernel.
 * Each sequence has a state of the tokens before its first; a few of its first tokens can be
 * returned, so that a caller can replay a part of it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"

enum { X, W, FIRSTS, BIAS, STATE, CAPTURE };

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, "none", .choices = "none silu swish"},
    {"dilation", OP_ATTR_INT, false, "1", .range = "1..2147483647"},
    {"state_update_capacity", OP_ATTR_INT, false, "0", .range = "0..8"},
    {NULL},
};

static pgy_status check_inputs(op_infer *c, dim batch, dim channels, dim before, pgy_error *err)
{
    static const int32_t RANKS[] = {2, 3, 1, 1, 3, 1};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < 6; i++) st = rank_check(c, i, RANKS[i], RANKS[i], err);
    if (!st) st = dim_check(c, X, 1, channels, "the number of channels", err);
    if (!st) st = dim_check(c, W, 0, channels, "the number of channels", err);
    if (!st) st = dim_check(c, W, 1, dim_const(1), "the number of channels of each kernel", err);
    if (!st) st = dim_check(c, BIAS, 0, channels, "the number of channels", err);
    if (!st) st = dim_check(c, STATE, 0, batch, "the batch", err);
    if (!st) st = dim_check(c, STATE, 1, channels, "the number of channels", err);
    if (!st) st = dim_check(c, STATE, 2, before, "the kernel's reach", err);
    if (!st) st = dim_check(c, CAPTURE, 0, batch, "the batch", err);
    const bool captures = op_attr_int(c->node, "state_update_capacity", 0) > 0;
    if (!st && op_has_input(c, CAPTURE) != captures)
        st = op_error(c->node, err, PGY_E_ARGUMENT,
                      "input %d (capture_count) must be given if state_update_capacity is "
                      "positive, and only then",
                      CAPTURE);
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X], *w = &c->inputs[W], *state = &c->inputs[STATE];
    const dim unknown = dim_unknown(c->dims, "the shape of an input is not known");
    const dim channels = x->rank == 2 ? x->dims[1] : unknown;
    const dim batch = rank_known(c, FIRSTS) && c->inputs[FIRSTS].rank == 1
                          ? dim_sub(c->dims, c->inputs[FIRSTS].dims[0], dim_const(1))
                          : unknown;
    dim before = unknown;
    if (w->rank == 3) {
        if (dim_is_const(w->dims[2]) && w->dims[2].value < 1)
            return op_error(c->node, err, PGY_E_SHAPE, "the kernel has size 0");
        before = dim_mul(c->dims, dim_sub(c->dims, w->dims[2], dim_const(1)),
                         dim_const(op_attr_int(c->node, "dilation", 1)));
    }
    const pgy_status st = check_inputs(c, batch, channels, before, err);
    if (st) return st;
    op_set_like(c, 0, X);
    if (state->rank == 3)
        op_set_output(c, 1, x->dtype, 3, state->dims);
    else
        op_set_unknown(c, 1, x->dtype, 3, "the shape of the state is not known");
    dim *update = op_dims(c, 3);
    if (!update) return rule_no_memory(c->node, err);
    update[0] = dim_joined(c, STATE, 0, batch);
    update[1] = dim_const(op_attr_int(c->node, "state_update_capacity", 0));
    update[2] = channels;
    output_set(c, 2, x->dtype, 3, update);
    return PGY_OK;
}

typedef struct conv {
    const op_eval *c;
    size_t channels, taps, before, step;
    bool swish;
} conv;

/* Element `at` of a channel's state followed by the tokens of its sequence. */
static double padded(const conv *v, size_t sequence, size_t first, size_t channel, size_t at)
{
    if (at < v->before)
        return in_f64(v->c, STATE)[(sequence * v->channels + channel) * v->before + at];
    return in_f64(v->c, X)[(first + at - v->before) * v->channels + channel];
}

static void run_lines(size_t begin, size_t end, void *user)
{
    const conv *v = user;
    const int64_t *firsts = in_i64(v->c, FIRSTS);
    for (size_t line = begin; line < end; line++) {
        const size_t sequence = line / v->channels, channel = line % v->channels;
        const size_t first = (size_t)firsts[sequence];
        const size_t length = (size_t)firsts[sequence + 1] - first;
        const double *w = in_f64(v->c, W) + channel * v->taps;
        for (size_t t = 0; t < length; t++) {
            double sum = in_f64(v->c, BIAS) ? in_f64(v->c, BIAS)[channel] : 0;
            for (size_t k = 0; k < v->taps; k++)
                sum += w[k] * padded(v, sequence, first, channel, t + k * v->step);
            out_f64(v->c, 0)[(first + t) * v->channels + channel] =
                v->swish ? sum / (1 + exp(-sum)) : sum;
        }
        for (size_t k = 0; out_count(v->c, 1) && k < v->before; k++)
            out_f64(v->c, 1)[line * v->before + k] =
                padded(v, sequence, first, channel, length + k);
    }
}

static void capture(const conv *v, size_t batch)
{
    const int64_t *firsts = in_i64(v->c, FIRSTS), *counts = in_i64(v->c, CAPTURE);
    const size_t room = (size_t)op_attr_int(v->c->node, "state_update_capacity", 0);
    for (size_t b = 0; counts && b < batch; b++)
        for (size_t t = 0; t < room; t++) {
            if ((int64_t)t >= counts[b] || (int64_t)t >= firsts[b + 1] - firsts[b]) break;
            memcpy(out_f64(v->c, 2) + (b * room + t) * v->channels,
                   in_f64(v->c, X) + ((size_t)firsts[b] + t) * v->channels,
                   v->channels * sizeof(double));
        }
}

static pgy_status check_firsts(const op_eval *c, size_t batch, pgy_error *err)
{
    const int64_t *firsts = in_i64(c, FIRSTS), tokens = in_shape(c, X)[0];
    for (size_t i = 0; i < batch; i++)
        if (firsts[i + 1] <= firsts[i])
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "sequence %zu goes from token %" PRId64 " to %" PRId64
                            ", but needs at least one",
                            i, firsts[i], firsts[i + 1]);
    if (firsts[0] != 0 || firsts[batch] != tokens)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "cumulative_sequence_length goes from %" PRId64 " to %" PRId64
                        ", but must go from 0 to the %" PRId64 " tokens",
                        firsts[0], firsts[batch], tokens);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "FFIfFi", err);
    if (st) return st;
    const size_t batch = (size_t)in_shape(c, STATE)[0];
    st = check_firsts(c, batch, err);
    if (st) return st;
    const conv v = {c,
                    (size_t)in_shape(c, X)[1],
                    (size_t)in_shape(c, W)[2],
                    (size_t)in_shape(c, STATE)[2],
                    (size_t)op_attr_int(c->node, "dilation", 1),
                    !op_attr_is(c->node, "activation", "none", "none")};
    const size_t tokens = (size_t)in_shape(c, X)[0];
    rows_run(batch * v.channels, (tokens + v.before) * v.taps, run_lines, (void *)&v);
    if (out_count(c, 2)) capture(&v, batch);
    return PGY_OK;
}

#define TYPES "float16 float32 bfloat16"
const op_def OP_varlen_causal_conv_with_state[] = {
    {"VarlenCausalConvWithState", "com.microsoft", 1, 0, 5, 6, 2, 3, 0, ATTRS, TYPES, infer, eval,
     NULL,
     .signature = "T = " TYPES "; M = int32; input:T, weight:T, cumulative_sequence_length:M, "
                  "?bias:T, initial_state:T, ?capture_count:M -> output:T, final_state:T, "
                  "?state_update:T"},
    {NULL},
};

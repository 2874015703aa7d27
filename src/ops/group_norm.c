/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft GroupNorm and SkipGroupNorm: groups of channels are normalised to mean 0 and
 * variance 1, scaled and shifted per channel, with an optional SiLU. The channels are last by
 * default. SkipGroupNorm first adds a tensor and a bias per channel; this sum is output 1. */
#include <inttypes.h>
#include <math.h>

#include "ops/class_norm.h"

enum { X, GAMMA, BETA, SKIP, BIAS };

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_INT, true, NULL},
    {"channels_last", OP_ATTR_INT, false, "1"},
    {"epsilon", OP_ATTR_FLOAT, false, "1e-5"},
    {"groups", OP_ATTR_INT, true, NULL},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X];
    const int64_t groups = op_attr_int(c->node, "groups", 0);
    const int64_t activation = op_attr_int(c->node, "activation", 0);
    pgy_status st = rank_check(c, X, 3, PGY_MAX_RANK, err);
    if (st) return st;
    if (groups < 1 || activation < 0 || activation > 1)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute groups is %" PRId64 " and activation is %" PRId64
                        "; groups must be positive, activation 0 or 1",
                        groups, activation);
    for (size_t i = 0; i < c->node->output_count; i++) op_set_like(c, i, X);
    if (x->rank < 0) return PGY_OK;
    const dim channels = x->dims[op_attr_int(c->node, "channels_last", 1) ? x->rank - 1 : 1];
    if (dim_is_const(channels) && channels.value % groups)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "attribute groups is %" PRId64 ", which does not divide the %" PRId64
                        " channels",
                        groups, channels.value);
    for (size_t i = GAMMA; !st && i <= BIAS; i++) {
        if (i == SKIP) continue;
        st = rank_check(c, i, 1, 1, err);
        if (!st) st = dim_check(c, i, 0, channels, "the number of channels", err);
    }
    return st;
}

typedef struct grouping {
    const op_eval *c;
    size_t groups, channels, plane; /* channels: of all groups; plane: positions of an image */
    bool last, silu, skip_whole;    /* skip_whole: the added tensor has the input's shape, else one
                                       element per channel */
    double epsilon;
} grouping;

static size_t place(const grouping *g, size_t n, size_t channel, size_t p)
{
    return g->last ? (n * g->plane + p) * g->channels + channel
                   : (n * g->channels + channel) * g->plane + p;
}

/* Computes the sum of the inputs, and its mean and variance over a group. */
static norm_stats add_up(const grouping *g, size_t n, size_t first, size_t count)
{
    const double *x = in_f64(g->c, X), *skip = in_f64(g->c, SKIP), *bias = in_f64(g->c, BIAS);
    double *y = out_f64(g->c, 0), sum = 0, squares = 0;
    const double total = (double)(count * g->plane);
    for (size_t channel = first; channel < first + count; channel++)
        for (size_t p = 0; p < g->plane; p++) {
            const size_t at = place(g, n, channel, p);
            y[at] = x[at] + (bias ? bias[channel] : 0);
            if (skip) y[at] += skip[g->skip_whole ? at : n * g->channels + channel];
            if (out_f64(g->c, 1)) out_f64(g->c, 1)[at] = y[at];
            sum += y[at];
        }
    for (size_t channel = first; channel < first + count; channel++)
        for (size_t p = 0; p < g->plane; p++) {
            const double d = y[place(g, n, channel, p)] - sum / total;
            squares += d * d;
        }
    return (norm_stats){sum / total, squares / total};
}

static void run(size_t begin, size_t end, void *user)
{
    const grouping *g = user;
    const size_t count = g->channels / g->groups;
    for (size_t i = begin; i < end; i++) {
        const size_t n = i / g->groups, first = i % g->groups * count;
        const norm_stats s = add_up(g, n, first, count);
        const double factor = 1 / sqrt(s.variance + g->epsilon);
        for (size_t channel = first; channel < first + count; channel++)
            for (size_t p = 0; p < g->plane; p++) {
                double *y = out_f64(g->c, 0) + place(g, n, channel, p);
                *y = (*y - s.mean) * factor * in_f64(g->c, GAMMA)[channel] +
                     in_f64(g->c, BETA)[channel];
                if (g->silu) *y /= 1 + exp(-*y);
            }
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const size_t rank = in_rank(c, X);
    pgy_status st = inputs_check(c, "FFFff", err);
    if (st || !in_count(c, X)) return st;
    const int64_t *s = in_shape(c, X);
    grouping g = {.c = c,
                  .groups = (size_t)op_attr_int(c->node, "groups", 1),
                  .last = op_attr_int(c->node, "channels_last", 1) != 0,
                  .silu = op_attr_int(c->node, "activation", 0) == 1,
                  .epsilon = op_attr_float(c->node, "epsilon", 1e-5)};
    g.channels = (size_t)s[g.last ? rank - 1 : 1];
    g.plane = in_count(c, X) / (size_t)s[0] / g.channels;
    g.skip_whole = in_count(c, SKIP) == in_count(c, X);
    if (in_f64(c, SKIP) && !g.skip_whole && in_count(c, SKIP) != (size_t)s[0] * g.channels)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the skip has %zu elements, but the input has %zu", in_count(c, SKIP),
                        in_count(c, X));
    rows_run((size_t)s[0] * g.groups, g.channels / g.groups * g.plane * 6, run, &g);
    return PGY_OK;
}

#define ROW(op, least, most, outputs, text)                                                  \
    {                                                                                        \
        op, "com.microsoft", 1, 0, least, most, 1, outputs, 0, ATTRS, TYPES_F4, infer, eval, \
            norm_flops, .signature = text                                                    \
    }
#define TYPES "T = float16 float32 float64 bfloat16; M = float16 float32 float64 bfloat16; "
const op_def OP_group_norm[] = {
    ROW("GroupNorm", 3, 3, 1, TYPES "X:T, gamma:M, beta:M -> Y:T"),
    ROW("SkipGroupNorm", 4, 5, 2, TYPES "X:T, gamma:M, beta:M, skip:T, ?bias:T -> Y:T, ?S:T"),
    {NULL},
};

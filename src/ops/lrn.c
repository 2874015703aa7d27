/* SPDX-License-Identifier: Apache-2.0 */
/* LRN: y = x / (bias + alpha / size * sum of squares over nearby channels) ^ beta. */
#include <inttypes.h>
#include <math.h>

#include "ops/class_norm.h"

static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "0.0001"},
    {"beta", OP_ATTR_FLOAT, false, "0.75"},
    {"bias", OP_ATTR_FLOAT, false, "1.0"},
    {"size", OP_ATTR_INT, true, NULL, NULL, "1.."},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    int64_t size = op_attr_int(c->node, "size", 1);
    pgy_status st = rank_check(c, 0, 2, PGY_MAX_RANK, err);
    if (st) return st;
    if (size < 1 || size > INT32_MAX)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute size is %" PRId64 ", but must be positive", size);
    op_set_like(c, 0, 0);
    return PGY_OK;
}

typedef struct response {
    const op_eval *c;
    size_t channels, plane, before, after;
    double alpha, beta, bias;
} response;

static void run(size_t begin, size_t end, void *user)
{
    const response *r = user;
    for (size_t i = begin; i < end; i++) {
        size_t ch = i % r->channels, first = ch > r->before ? ch - r->before : 0;
        size_t last = r->channels - 1 - ch > r->after ? ch + r->after : r->channels - 1;
        const double *x = in_f64(r->c, 0) + (i - ch) * r->plane;
        double *y = out_f64(r->c, 0) + i * r->plane;
        for (size_t j = 0; j < r->plane; j++) y[j] = 0;
        for (size_t n = first; n <= last; n++)
            for (size_t j = 0; j < r->plane; j++) y[j] += x[n * r->plane + j] * x[n * r->plane + j];
        for (size_t j = 0; j < r->plane; j++)
            y[j] = x[ch * r->plane + j] / pow(r->bias + r->alpha * y[j], r->beta);
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "F", err);
    if (st) return st;
    axis_view v = axis_view_of(in_shape(c, 0), in_rank(c, 0), 1, 2);
    size_t size = (size_t)op_attr_int(c->node, "size", 1);
    response r = {.c = c,
                  .channels = v.length,
                  .plane = v.inner,
                  .before = (size - 1) / 2,
                  .after = size / 2};
    r.alpha = op_attr_float(c->node, "alpha", 1e-4) / (double)size;
    r.beta = op_attr_float(c->node, "beta", 0.75);
    r.bias = op_attr_float(c->node, "bias", 1);
    rows_run(v.outer * v.length, v.inner * (size + 16), run, &r);
    return PGY_OK;
}

#define ROW(version, words)                                                         \
    {                                                                               \
        "LRN", "", version, 0, 1, 1, 1, 1, 0, ATTRS, words, infer, eval, norm_flops \
    }
const op_def OP_lrn[] = {ROW(1, TYPES_F3), ROW(13, TYPES_F4), {NULL}};

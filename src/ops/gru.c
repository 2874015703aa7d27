/* SPDX-License-Identifier: Apache-2.0 */
/* GRU: gates z, r, h; with linear_before_reset the reset gate scales H Rh' + bias, else H before
 * that product, which costs a second product per step. See class_rnn.h. */
#include "ops/class_rnn.h"

#include "ops/gemm.h"

enum { Z, RESET, NEW };

static bool is_linear(const rnn_problem *p)
{
    return op_attr_int(p->c->node, "linear_before_reset", 0) != 0;
}

static double gate(const rnn_problem *p, const double *xw, const double *hr, size_t g, size_t j)
{
    size_t at = g * p->hidden + j;
    return rnn_activate(p, 0, xw[at] + hr[at] + rnn_bias_w(p, g, j) + rnn_bias_r(p, g, j));
}

/* product = (r * H) Rh' */
static pgy_status prepare(const rnn_problem *p, size_t step, pgy_error *err)
{
    if (is_linear(p)) return PGY_OK;
    for (size_t b = 0; b < p->batch; b++) {
        const double *xw = rnn_row(p, step, b), *hr = p->hr + b * p->gates * p->hidden;
        for (size_t j = 0; j < p->hidden; j++)
            p->scratch[b * p->hidden + j] =
                xw ? gate(p, xw, hr, RESET, j) * p->h[b * p->hidden + j] : 0;
    }
    gemm_matrix left = {p->scratch, (int64_t)p->hidden, 1},
                right = {p->r + NEW * p->hidden * p->hidden, 1, (int64_t)p->hidden};
    return gemm_f64(p->batch, p->hidden, p->hidden, left, right, p->product, p->hidden, false, err);
}

static void cell(const rnn_problem *p, size_t b, const double *xw)
{
    double *h = p->h + b * p->hidden;
    const double *hr = p->hr + b * p->gates * p->hidden;
    bool linear = is_linear(p);
    for (size_t j = 0; j < p->hidden; j++) {
        double z = gate(p, xw, hr, Z, j), bias = rnn_bias_r(p, NEW, j), inner;
        if (linear)
            inner = gate(p, xw, hr, RESET, j) * (hr[NEW * p->hidden + j] + bias);
        else
            inner = p->product[b * p->hidden + j] + bias;
        double next = rnn_activate(p, 1, xw[NEW * p->hidden + j] + inner + rnn_bias_w(p, NEW, j));
        h[j] = (1 - z) * next + z * h[j];
    }
}

static const char *const DEFAULTS[] = {"Sigmoid", "Tanh"};
static const rnn_kind KIND = {
    .gates = 3, .functions = 2, .defaults = DEFAULTS, .prepare = prepare, .cell = cell};

#define COMMON                                                                               \
    {"activation_alpha", OP_ATTR_FLOATS, false, NULL},                                       \
        {"activation_beta", OP_ATTR_FLOATS, false, NULL},                                    \
        {"activations", OP_ATTR_STRINGS, false, NULL}, {"clip", OP_ATTR_FLOAT, false, NULL}, \
        {"direction", OP_ATTR_STRING, false, "forward", "forward reverse bidirectional"},    \
        {"hidden_size", OP_ATTR_INT, false, NULL, NULL, "1.."},                              \
    {                                                                                        \
        "linear_before_reset", OP_ATTR_INT, false, "0"                                       \
    }
static const op_attr_def ATTRS_7[] = {COMMON, {NULL}};
static const op_attr_def ATTRS_14[] = {
    COMMON, {"layout", OP_ATTR_INT, false, "0", NULL, "0..1"}, {NULL}};

#define ROW(version, attrs, words)                                                             \
    {                                                                                          \
        "GRU", "", version, 0, 3, 6, 0, 2, 0, attrs, words, rnn_infer, rnn_eval, rnn_flops, 0, \
            &KIND                                                                              \
    }
const op_def OP_gru[] = {
    ROW(7, ATTRS_7, TYPES_F3), ROW(14, ATTRS_14, TYPES_F3), ROW(22, ATTRS_14, TYPES_F4), {NULL}};

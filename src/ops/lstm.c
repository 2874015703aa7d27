/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM: gates i, o, f, c with optional peepholes and coupled input and forget gates. See
 * class_rnn.h. */
#include "ops/class_rnn.h"

enum { IN, OUT, FORGET, CELL };

/* Computes a gate's input to its activation for all hidden units, in place of the gate's part of
 * H R'. The peephole reads `c`. */
static double *sums(const rnn_problem *p, const double *xw, double *hr, size_t gate,
                    const double *c)
{
    static const int PEEPHOLES[] = {[IN] = 0, [OUT] = 1, [FORGET] = 2, [CELL] = -1};
    const size_t n = p->hidden, at = gate * n;
    const double *bias_w = p->bias ? p->bias + at : NULL;
    const double *bias_r = p->bias ? p->bias + p->gates * n + at : NULL;
    double *y = hr + at;
    for (size_t j = 0; j < n; j++) y[j] = xw[at + j] + y[j];
    for (size_t j = 0; bias_w && j < n; j++) y[j] = y[j] + bias_w[j] + bias_r[j];
    if (!p->peephole || PEEPHOLES[gate] < 0) return y;
    const double *peephole = p->peephole + (size_t)PEEPHOLES[gate] * n;
    for (size_t j = 0; j < n; j++) y[j] += peephole[j] * c[j];
    return y;
}

void rnn_lstm_cell(const rnn_problem *p, size_t b, const double *xw)
{
    const size_t n = p->hidden;
    double *h = p->h + b * n, *state = p->cell + b * n, *hr = p->hr + b * p->gates * n;
    const bool coupled = op_attr_int(p->c->node, "input_forget", 0) != 0;
    double *in = sums(p, xw, hr, IN, state), *forget = sums(p, xw, hr, FORGET, state);
    double *next = sums(p, xw, hr, CELL, state);
    rnn_activate_all(p, 0, in, n);
    rnn_activate_all(p, 0, forget, n);
    rnn_activate_all(p, 1, next, n);
    for (size_t j = 0; coupled && j < n; j++) forget[j] = 1 - in[j];
    for (size_t j = 0; j < n; j++) state[j] = forget[j] * state[j] + in[j] * next[j];
    double *out = sums(p, xw, hr, OUT, state);
    rnn_activate_all(p, 0, out, n);
    /* Only gates are clipped: runtimes do not clip the cell state. */
    for (size_t j = 0; j < n; j++) h[j] = state[j];
    rnn_apply_all(p, 2, h, n);
    for (size_t j = 0; j < n; j++) h[j] *= out[j];
}

const char *const RNN_LSTM_FUNCTIONS[] = {"Sigmoid", "Tanh", "Tanh"};
static const rnn_kind KIND = {.gates = 4,
                              .functions = 3,
                              .defaults = RNN_LSTM_FUNCTIONS,
                              .has_cell = true,
                              .cell = rnn_lstm_cell};

#define COMMON                                                                               \
    {"activation_alpha", OP_ATTR_FLOATS, false, NULL},                                       \
        {"activation_beta", OP_ATTR_FLOATS, false, NULL},                                    \
        {"activations", OP_ATTR_STRINGS, false, NULL}, {"clip", OP_ATTR_FLOAT, false, NULL}, \
        {"direction", OP_ATTR_STRING, false, "forward", "forward reverse bidirectional"},    \
        {"hidden_size", OP_ATTR_INT, false, NULL, NULL, "1.."},                              \
    {                                                                                        \
        "input_forget", OP_ATTR_INT, false, "0"                                              \
    }
static const op_attr_def ATTRS_7[] = {COMMON, {NULL}};
static const op_attr_def ATTRS_14[] = {
    COMMON, {"layout", OP_ATTR_INT, false, "0", NULL, "0..1"}, {NULL}};

#define ROW(version, attrs, words)                                                              \
    {                                                                                           \
        "LSTM", "", version, 0, 3, 8, 0, 3, 0, attrs, words, rnn_infer, rnn_eval, rnn_flops, 0, \
            &KIND                                                                               \
    }
const op_def OP_lstm[] = {
    ROW(7, ATTRS_7, TYPES_F3), ROW(14, ATTRS_14, TYPES_F3), ROW(22, ATTRS_14, TYPES_F4), {NULL}};

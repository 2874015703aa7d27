/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM: gates i, o, f, c with optional peepholes and coupled input and forget gates. See
 * class_rnn.h. */
#include "ops/class_rnn.h"

enum { IN, OUT, FORGET, CELL };

/* What goes into the activation of a gate; the peephole sees `c`. */
static double sum(const rnn_problem *p, const double *xw, const double *hr, size_t gate, size_t j,
                  double c)
{
    static const int PEEPHOLES[] = {[IN] = 0, [OUT] = 1, [FORGET] = 2, [CELL] = -1};
    size_t at = gate * p->hidden + j;
    double s = xw[at] + hr[at] + rnn_bias_w(p, gate, j) + rnn_bias_r(p, gate, j);
    int peephole = PEEPHOLES[gate];
    return p->peephole && peephole >= 0 ? s + p->peephole[(size_t)peephole * p->hidden + j] * c : s;
}

static void cell(const rnn_problem *p, size_t b, const double *xw)
{
    double *h = p->h + b * p->hidden, *state = p->cell + b * p->hidden;
    const double *hr = p->hr + b * p->gates * p->hidden;
    bool coupled = op_attr_int(p->c->node, "input_forget", 0) != 0;
    for (size_t j = 0; j < p->hidden; j++) {
        double before = state[j];
        double i = rnn_activate(p, 0, sum(p, xw, hr, IN, j, before));
        double f = coupled ? 1 - i : rnn_activate(p, 0, sum(p, xw, hr, FORGET, j, before));
        double next = rnn_activate(p, 1, sum(p, xw, hr, CELL, j, 0));
        state[j] = f * before + i * next;
        double o = rnn_activate(p, 0, sum(p, xw, hr, OUT, j, state[j]));
        /* Clipping is for gates: runtimes leave the cell's own value alone. */
        h[j] = o * p->functions[2].apply(state[j], p->functions[2].alpha, p->functions[2].beta);
    }
}

static const char *const DEFAULTS[] = {"Sigmoid", "Tanh", "Tanh"};
static const rnn_kind KIND = {
    .gates = 4, .functions = 3, .defaults = DEFAULTS, .has_cell = true, .cell = cell};

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

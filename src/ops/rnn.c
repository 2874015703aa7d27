/* SPDX-License-Identifier: Apache-2.0 */
/* RNN: H = f(X W' + H R' + biases). See class_rnn.h. */
#include "ops/class_rnn.h"

static void cell(const rnn_problem *p, size_t b, const double *xw)
{
    double *h = p->h + b * p->hidden;
    const double *hr = p->hr + b * p->hidden;
    for (size_t j = 0; j < p->hidden; j++)
        h[j] = rnn_activate(p, 0, xw[j] + hr[j] + rnn_bias_w(p, 0, j) + rnn_bias_r(p, 0, j));
}

static const char *const DEFAULTS[] = {"Tanh"};
static const rnn_kind KIND = {.gates = 1, .functions = 1, .defaults = DEFAULTS, .cell = cell};

#define COMMON                                                                               \
    {"activation_alpha", OP_ATTR_FLOATS, false, NULL},                                       \
        {"activation_beta", OP_ATTR_FLOATS, false, NULL},                                    \
        {"activations", OP_ATTR_STRINGS, false, NULL}, {"clip", OP_ATTR_FLOAT, false, NULL}, \
        {"direction", OP_ATTR_STRING, false, "forward", "forward reverse bidirectional"},    \
    {                                                                                        \
        "hidden_size", OP_ATTR_INT, false, NULL, NULL, "1.."                                 \
    }
static const op_attr_def ATTRS_7[] = {COMMON, {NULL}};
static const op_attr_def ATTRS_14[] = {
    COMMON, {"layout", OP_ATTR_INT, false, "0", NULL, "0..1"}, {NULL}};

#define ROW(version, attrs, words)                                                             \
    {                                                                                          \
        "RNN", "", version, 0, 3, 6, 0, 2, 0, attrs, words, rnn_infer, rnn_eval, rnn_flops, 0, \
            &KIND                                                                              \
    }
const op_def OP_rnn[] = {
    ROW(7, ATTRS_7, TYPES_F3), ROW(14, ATTRS_14, TYPES_F3), ROW(22, ATTRS_14, TYPES_F4), {NULL}};

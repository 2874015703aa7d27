/* SPDX-License-Identifier: Apache-2.0 */
/* RNN, GRU and LSTM: shapes, directions, sequence lengths and activations. Each operator supplies
 * its cell. */
#ifndef OPS_CLASS_RNN_H
#define OPS_CLASS_RNN_H

#include "ops/class_check.h"

enum { RNN_X, RNN_W, RNN_R, RNN_B, RNN_LENGTHS, RNN_H0, RNN_C0, RNN_P };
enum { RNN_MAX_FUNCTIONS = 3 };

typedef struct rnn_function {
    double (*apply)(double x, double alpha, double beta);
    double alpha, beta;
} rnn_function;

/* The data of one run of a node for one direction (forward or reverse). */
typedef struct rnn_problem {
    const op_eval *c;
    size_t gates, steps, batch, inputs, hidden, directions, direction;
    bool reverse, batch_first;
    double clip; /* attribute `clip`; infinite if it is absent */
    rnn_function functions[RNN_MAX_FUNCTIONS];
    const double *w, *r, *bias, *peephole; /* weights of this direction; the last two may be NULL */
    double *h, *cell;          /* [batch, hidden]; cell is NULL unless the operator is an LSTM */
    double *xw, *hr;           /* X W' for all steps, H R' for this one: [.., gates * hidden] */
    double *scratch, *product; /* [batch, hidden] */
} rnn_problem;

/* Prepares a step for the whole batch once hr is computed; may be NULL. */
typedef pgy_status (*rnn_prepare)(const rnn_problem *p, size_t step, pgy_error *err);
/* Computes xw from X (`input` RNN_W), or hr from the state before `step` (RNN_R). */
typedef pgy_status (*rnn_multiply)(const rnn_problem *p, size_t input, size_t step, pgy_error *err);
/* Updates h (and cell) of batch entry b; xw points at its row of gates. */
typedef void (*rnn_cell)(const rnn_problem *p, size_t b, const double *xw);

typedef struct rnn_kind {
    size_t gates, functions;
    const char *const *defaults; /* names of activations */
    bool has_cell;
    rnn_prepare prepare;
    rnn_cell cell;
    rnn_multiply multiply; /* NULL: the products are plain */
} rnn_kind;

pgy_status rnn_infer(op_infer *c,
                     pgy_error *err) PGY_MUST_CHECK; /* def->user_data is an rnn_kind */
pgy_status rnn_eval(op_eval *c, pgy_error *err) PGY_MUST_CHECK;
double rnn_flops(const op_infer *c);
/* The product without more: an rnn_multiply. */
pgy_status rnn_multiply_plain(const rnn_problem *p, size_t input, size_t step,
                              pgy_error *err) PGY_MUST_CHECK;
/* The cell of LSTM. */
void rnn_lstm_cell(const rnn_problem *p, size_t b, const double *xw);
extern const char *const RNN_LSTM_FUNCTIONS[];

/* Clips x and applies activation i. */
double rnn_activate(const rnn_problem *p, size_t i, double x);
/* Clip n values and apply activation i in place; rnn_apply_all does not clip. */
void rnn_activate_all(const rnn_problem *p, size_t i, double *x, size_t n);
void rnn_apply_all(const rnn_problem *p, size_t i, double *x, size_t n);
/* The bias of W, or of R, for a gate at hidden unit j. */
double rnn_bias_w(const rnn_problem *p, size_t gate, size_t j);
double rnn_bias_r(const rnn_problem *p, size_t gate, size_t j);
/* Gives the row of xw for a batch entry at a step; NULL if the entry's sequence is shorter. */
const double *rnn_row(const rnn_problem *p, size_t step, size_t b);
/* Number of steps of a batch entry. */
size_t rnn_length(const rnn_problem *p, size_t b);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN in float32. Phase 0 computes X W' with the biases for all steps as one product.
 * Then each step of both directions takes one phase (two for a GRU that resets before the product):
 * it adds H R' to the rows of that step, and applies the gates to get the next H. Parts divide the
 * hidden units, so one thread computes each sum, and finds its weights in its cache at every step.
 * Gates are padded to whole panels of the matrix product. */
#ifndef KERNELS_RNN_H
#define KERNELS_RNN_H

#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/matmul.h"

enum { RNN_X, RNN_W, RNN_R, RNN_B, RNN_LENGTHS, RNN_H0, RNN_C0, RNN_P, RNN_INPUTS };
typedef enum rnn_cell { RNN_CELL_RNN, RNN_CELL_GRU, RNN_CELL_LSTM } rnn_cell;
typedef enum rnn_function { RNN_SIGMOID, RNN_TANH, RNN_RELU } rnn_function;

typedef struct rnn_params {
    uint32_t cell, level, directions, reverse; /* bit d of reverse: direction d runs backwards */
    uint32_t gates, batch_first, late_reset, coupled; /* late_reset: linear_before_reset */
    uint32_t has_lengths, has_peephole, inputs, outputs, functions[6];
    /* padded: `hidden` rounded up to whole panels of the product; width: padded size of all gates
     */
    uint64_t steps, batch, in, hidden, padded, width;
    /* Offsets into the packed floats of one direction; `each` is their number. */
    uint64_t bias_r, peephole, w, r, each;
    matmul_shape product; /* X W' of one direction */
} rnn_params;

void rnn_run(const kernel_run *r);
/* Reads the problem, with weights as LSTM, GRU and RNN have them. False: the kernels do not compute
 * it. */
bool rnn_describe(rnn_params *p, const kernel_problem *u, cpu_level level);
/* Reads operator and attributes. False: not what the kernels compute. */
bool rnn_read_node(rnn_params *p, const op_node *n);
/* Are the members that rnn_read_node sets possible? Those read from a plan file can be anything. */
bool rnn_is_node(const rnn_params *p);
/* Do the members that follow from others have the values that rnn_describe sets? */
bool rnn_is_consistent(const rnn_params *p);
/* Are the sizes small enough that nothing computed from them overflows? */
bool rnn_are_sizes(const rnn_params *p, uint64_t padded);
/* Workspace of all directions: gate rows of all steps, and four state matrices for each direction.
 */
uint64_t rnn_workspace_floats(const rnn_params *p);
/* Fills the packed floats up to the weights: the biases of W and R, added, and peepholes. */
void rnn_pack_floats(float *to, const rnn_params *p, const kernel_problem *u, uint64_t d);
/* Copies the gates of one direction, whose rows of `depth` numbers lie `step` apart; pads each gate
 * with rows of zeros behind its hidden units. */
void rnn_pad_gates(float *to, const rnn_params *p, const float *from, uint64_t depth,
                   uint64_t step);
/* Packs the weights of one direction; rows of W lie `step` numbers apart, and `rows` has room for
 * the padded gates of W or R. */
void rnn_pack_direction(float *to, const rnn_params *p, const kernel_problem *u, uint64_t d,
                        uint64_t step, float *rows);
/* States which elements of tensors are touched; refuses another number of operands. */
bool rnn_extent_tensors(kernel_extent *e, const kernel_claim *q, const rnn_params *p);

/* Memory of one direction during a run. */
typedef struct rnn_state {
    const rnn_params *p;
    const kernel_run *r;
    const float *packed;
    float *xw; /* a row of all gates for each step and batch entry */
    /* States as [batch][padded]; h[0] is read and h[1] written in even steps, else the reverse. */
    float *h[2], *c, *other;
    uint64_t direction;
} rnn_state;

rnn_state rnn_state_of(const rnn_params *p, const kernel_run *r, uint64_t d);
/* Reports bad lengths and loads the initial states of all directions. */
void rnn_begin(const rnn_params *p, const kernel_run *r);
uint64_t rnn_length_of(const rnn_state *s, uint64_t b);
/* The time index that batch entry b reads at `step`; `step` must be below the entry's length. */
uint64_t rnn_time_of(const rnn_state *s, uint64_t step, uint64_t b);
float *rnn_row_of(const rnn_state *s, uint64_t time, uint64_t b);
/* This part's share of X W' and the biases. */
void rnn_multiply_inputs(const rnn_params *p, const kernel_run *r);
/* Rows for the batch, which lie `step` numbers apart, and the packed weights of all gates that
 * multiply them. */
typedef struct rnn_factor {
    const float *rows;
    uint64_t step, depth;
    const float *packed;
} rnn_factor;
/* Multiplies x by one panel of gates [first, end), and adds the products to the gate rows of this
 * step. */
void rnn_multiply(const rnn_state *s, uint64_t step, uint64_t first, uint64_t end, uint64_t panel,
                  const rnn_factor *x);
/* Computes hidden units [at, at + n) of all batch entries from the rows of this step, and stores
 * them. `ends`: this is the last phase of the step. */
void rnn_cells(const rnn_state *s, uint64_t step, bool ends, size_t at, size_t n);

/* Does a GRU reset the state before the product? Then a step takes two phases. */
static inline bool rnn_resets_early(const rnn_params *p)
{
    return p->cell == RNN_CELL_GRU && !p->late_reset;
}

/* Panels of the hidden units of one gate. */
static inline uint64_t rnn_panel_count(const rnn_params *p)
{
    return p->padded / matmul_tile_of((cpu_level)p->level)->columns;
}

#endif

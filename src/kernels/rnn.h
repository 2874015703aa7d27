/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN in float32. Phase 0 computes X W' with the biases for all steps as one product.
 * Then each step takes one phase (two for a GRU that resets before the product): it adds H R' to
 * the rows of that step, and applies the gates to get the next H. Parts divide the hidden units, so
 * one thread computes each sum. Gates are padded to whole panels of the matrix product. */
#ifndef KERNELS_RNN_H
#define KERNELS_RNN_H

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

/* SPDX-License-Identifier: Apache-2.0 */
/* AttnLSTM in float32: an LSTM (kernels/rnn.h) that also reads what its state attends to in a
 * memory M. Phase 0 computes X W' for all steps and the keys M MW. Then each step takes two phases:
 * one computes the attention from the state, in parts of the batch; one adds the products of state
 * and attention to the rows of the step, and applies the gates, in parts of the hidden units. */
#ifndef KERNELS_ATTN_LSTM_H
#define KERNELS_ATTN_LSTM_H

#include "kernels/rnn.h"

enum {
    ATTN_LSTM_QW = RNN_INPUTS,
    ATTN_LSTM_MW,
    ATTN_LSTM_V,
    ATTN_LSTM_M,
    ATTN_LSTM_LENGTHS,
    ATTN_LSTM_AW,
    ATTN_LSTM_INPUTS
};

/* What follows from the sizes. */
typedef struct attn_lstm_places {
    /* Rounded up to whole panels of the product. */
    uint64_t padded_units, padded_size;
    /* Floats of the packed weights of one direction, behind those of kernels/rnn.h of all of them:
     * MW, QW, the columns of W that the attention multiplies, AW; V comes first. */
    uint64_t mw, qw, wa, aw, each;
    /* Floats of the workspace, behind that of kernels/rnn.h. */
    uint64_t keys, queries, scores, context, state, workspace;
    uint64_t state_step;     /* from one batch entry's attention to the next one's */
    uint64_t chunk, scratch; /* rows of the memory that are scored together; floats for a thread */
} attn_lstm_places;

typedef struct attn_lstm {
    rnn_params rnn;
    uint64_t has_layer, has_lengths; /* AW, and lengths of the memory */
    uint64_t units, rows, depth;     /* of the keys; of the memory */
    uint64_t size;                   /* of the attention */
    attn_lstm_places at;
} attn_lstm;

void attn_lstm_run(const kernel_run *r);

/* M MW of one direction. */
static inline matmul_shape attn_lstm_keys(const attn_lstm *p)
{
    return (matmul_shape){.m = p->rnn.batch * p->rows,
                          .n = p->at.padded_units,
                          .k = p->depth,
                          .a_row = p->depth,
                          .a_column = 1,
                          .batch = 1,
                          .alpha = 1,
                          .beta = 1};
}

#endif

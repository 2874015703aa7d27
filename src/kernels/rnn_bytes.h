/* SPDX-License-Identifier: Apache-2.0 */
/* DynamicQuantizeLSTM: an LSTM (kernels/rnn.h) whose products multiply bytes. Phase 0 finds the
 * range of X, phase 1 quantises its rows, phase 2 multiplies them by W. Then each step takes one
 * phase for all directions: every thread quantises H, adds its products with R to the rows of that
 * step, and applies the gates. Parts divide the panels of hidden units. */
#ifndef KERNELS_RNN_BYTES_H
#define KERNELS_RNN_BYTES_H

#include "kernels/int_amx.h"
#include "kernels/int_tile.h"
#include "kernels/rnn.h"

enum { RNN_W_SCALE = RNN_INPUTS, RNN_W_ZERO, RNN_R_SCALE, RNN_R_ZERO, RNN_BYTES_INPUTS };
enum { RNN_BYTES_PARTS = 64 };

/* One matrix of a direction, with columns padded gate by gate. The members are offsets from the
 * start of its direction, in units of four bytes. */
typedef struct rnn_bytes_matrix {
    uint64_t depth, groups; /* rows, and groups of four of them */
    /* has_zeros: one int32, not 0 if any packed byte has a zero point; then for each column its
     * scale, the sum of its bytes minus those of zero points, and its zero point; then bytes. */
    uint64_t has_zeros, scales, shifts, zeros, bytes;
} rnn_bytes_matrix;

typedef struct rnn_bytes {
    rnn_params rnn;
    rnn_bytes_matrix w, r;
    /* panels: of one gate; lanes: of a vector; chunk: rows of X in a unit of work */
    uint64_t panels, lanes, chunk, chunks;
    /* Byte offsets into the workspace, behind that of kernels/rnn.h, and into scratch memory. */
    uint64_t at_ranges, at_x, at_x_sums, workspace;
    uint64_t at_h, at_h_sums, at_tile, scratch;
} rnn_bytes;

void rnn_bytes_run(const kernel_run *r);

/* First hidden unit of panel i of a gate; the panels are almost equally wide. */
static inline uint64_t rnn_bytes_first(const rnn_bytes *p, uint64_t i)
{
    return i * (p->rnn.padded / p->lanes) / p->panels * p->lanes;
}

#endif

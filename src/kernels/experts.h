/* SPDX-License-Identifier: Apache-2.0 */
/* Mixtures of experts: MoE and QMoE with constant weights. Pairs of a token and one of its experts
 * are sorted by expert, so that each expert that is used computes one product for all its tokens.
 */
#ifndef KERNELS_EXPERTS_H
#define KERNELS_EXPERTS_H

#include "kernels/nbits_matmul.h"

enum { EXPERTS_LAYERS = 3, EXPERTS_X = 0, EXPERTS_ROUTER = 1, EXPERTS_PHASES = 7 };

typedef enum experts_activation {
    EXPERTS_RELU,
    EXPERTS_GELU,
    EXPERTS_SILU,
    EXPERTS_IDENTITY,
    EXPERTS_SWIGLU
} experts_activation;

/* One linear layer of all experts: the first, the second, and the one that gates the first. */
typedef struct experts_layer {
    uint64_t out, in;  /* 0: there is no such layer */
    uint64_t at, each; /* byte offset of the packed weights, and bytes of one expert's */
    uint32_t bias;     /* index of the bias; 0: none */
    uint32_t few_bits; /* the weights are those of `packed`, else panels of floats */
    nbits_matmul packed;
    uint64_t room; /* where A of `packed` is read into */
} experts_layer;

typedef struct experts {
    uint64_t tokens, hidden, inter, count, k; /* count: of experts; k: of them for each token */
    uint32_t level, inputs;
    uint32_t activation, fusion; /* fusion: 1: gates alternate with values; 2: they come first */
    uint32_t normalises;
    uint32_t weights; /* index of the weights of the experts; 0: the softmax of the scores */
    uint32_t clamps;
    uint32_t mixes; /* weights are those of the sparse mixer */
    float alpha, beta, limit;
    float unused_float;
    experts_layer layers[EXPERTS_LAYERS];
    /* Byte offsets in the workspace. A row is a pair of a token and an expert. */
    uint64_t at_expert, at_weight; /* of each pair, in order of tokens */
    uint64_t at_pair;              /* of each row */
    uint64_t at_row;               /* of each pair */
    uint64_t at_start;             /* of each expert: its first row; and the number of rows */
    uint64_t at_x, at_first, at_third, at_act, at_part;
} experts;

/* Sets the places in the workspace. @return its bytes */
uint64_t experts_lay_out(experts *p);
uint64_t experts_scratch_bytes(const experts *p);
/* Bytes of an expert's weights of a layer of floats. */
uint64_t experts_float_bytes(const experts *p, const experts_layer *l);
matmul_shape experts_shape(const experts_layer *l, uint64_t rows);
void experts_run(const kernel_run *r);

#endif

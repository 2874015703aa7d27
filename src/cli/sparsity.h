/* SPDX-License-Identifier: Apache-2.0 */
/* 2:4 structured sparsity: the weights for which it matters, and whether they have it. */
#ifndef CLI_SPARSITY_H
#define CLI_SPARSITY_H

#include <polygraphy/graph.h>

/* A weight and the axis along which four neighbours form a group. */
typedef struct sparse_weight {
    pgy_value *value;
    size_t axis;
} sparse_weight;

typedef struct sparse_weights {
    sparse_weight *items;
    size_t count, capacity;
} sparse_weights;

/* Weights of Conv, Gemm and MatMul nodes, each once, that have an eligible type and a length
 * divisible by four; logs why others are left out. */
pgy_status sparse_weights_find(sparse_weights *out, const pgy_graph *graph,
                               pgy_error *err) PGY_MUST_CHECK;
void sparse_weights_deinit(sparse_weights *w);
/* Are at least two of every four neighbours zero? The view is compact, of a type and shape that
 * sparse_weights_find accepts. */
bool sparsity_holds(pgy_view weight, size_t axis);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Models from which several programs of this folder start. Intermediate tensors have the rank
 * `inner_rank`; -1: their shapes are not declared. */
#ifndef EXAMPLES_GS_MODELS_H
#define EXAMPLES_GS_MODELS_H

#include "common.h"

/* tensor0 -> Identity -> tensor1 -> Add a constant -> tensor2 -> Identity -> tensor3 */
static inline pgy_status build_identities(pgy_gs_graph *g, int32_t inner_rank, pgy_error *err)
{
    const pgy_dim image[] = {{-1, "B"}, {3, NULL}, {64, NULL}, {64, NULL}};
    pgy_gs_tensor *x, *t1, *t2, *y, *one;
    pgy_status st = pgy_gs_variable(&x, g, "tensor0", PGY_F32, 4, image, err);
    if (!st) st = pgy_gs_variable(&t1, g, "tensor1", PGY_F32, inner_rank, image, err);
    if (!st) st = pgy_gs_variable(&t2, g, "tensor2", PGY_F32, inner_rank, image, err);
    if (!st) st = pgy_gs_variable(&y, g, "tensor3", PGY_F32, inner_rank, image, err);
    if (!st) st = make_weight(&one, g, "constant0", 1, 0, 4, (int64_t[]){1, 1, 1, 1}, err);
    if (!st) st = add_node(g, "Identity", "myIdentity0", TENSORS(x), TENSORS(t1), err);
    if (!st) st = add_node(g, "Add", "myAdd", TENSORS(t1, one), TENSORS(t2), err);
    if (!st) st = add_node(g, "Identity", "myIdentity1", TENSORS(t2), TENSORS(y), err);
    return st ? st : set_io(g, x, y, err);
}

/* Y = x0 + (a * x1 + b), by way of mul_out and add_out */
static inline pgy_status build_scaled_sum(pgy_gs_graph *g, int32_t inner_rank, pgy_error *err)
{
    const pgy_dim image[] = {{1, NULL}, {3, NULL}, {224, NULL}, {224, NULL}};
    const int64_t shape[] = {1, 3, 224, 224};
    pgy_gs_tensor *x0, *x1, *a, *b, *product, *sum, *y;
    pgy_status st = pgy_gs_variable(&x0, g, "x0", PGY_F32, 4, image, err);
    if (!st) st = pgy_gs_variable(&x1, g, "x1", PGY_F32, 4, image, err);
    if (!st) st = pgy_gs_variable(&product, g, "mul_out", PGY_F32, inner_rank, image, err);
    if (!st) st = pgy_gs_variable(&sum, g, "add_out", PGY_F32, inner_rank, image, err);
    if (!st) st = pgy_gs_variable(&y, g, "Y", PGY_F32, 4, image, err);
    if (!st) st = make_weight(&a, g, "a", 1, 0, 4, shape, err);
    if (!st) st = make_weight(&b, g, "b", 1, 0, 4, shape, err);
    if (!st) st = add_node(g, "Mul", NULL, TENSORS(a, x1), TENSORS(product), err);
    if (!st) st = add_node(g, "Add", NULL, TENSORS(product, b), TENSORS(sum), err);
    if (!st) st = add_node(g, "Add", NULL, TENSORS(x0, sum), TENSORS(y), err);
    if (!st) st = pgy_gs_set_graph_inputs(g, TENSORS(x0, x1), err);
    return st ? st : pgy_gs_set_graph_outputs(g, &y, 1, err);
}

#endif

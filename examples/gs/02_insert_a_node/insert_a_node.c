/* SPDX-License-Identifier: Apache-2.0 */
/* Inserts an Add between two nodes. When it reads tensor1, the tensor has two consumers; the first
 * one is still the old node.
 *
 *     02_insert_a_node before.onnx after.onnx
 */
#include "../common.h"

static pgy_status build(pgy_gs_graph *g, pgy_error *err)
{
    const pgy_dim image[] = {{-1, "B"}, {3, NULL}, {64, NULL}, {64, NULL}};
    pgy_gs_tensor *x, *t1, *y;
    pgy_status st = pgy_gs_variable(&x, g, "tensor0", PGY_F32, 4, image, err);
    if (!st) st = pgy_gs_variable(&t1, g, "tensor1", PGY_F32, -1, NULL, err);
    if (!st) st = pgy_gs_variable(&y, g, "tensor2", PGY_F32, -1, NULL, err);
    if (!st) st = add_node(g, "Identity", "myIdentity0", TENSORS(x), TENSORS(t1), err);
    if (!st) st = add_node(g, "Identity", "myIdentity1", TENSORS(t1), TENSORS(y), err);
    return st ? st : set_io(g, x, y, err);
}

static pgy_status insert(pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_node *first;
    pgy_gs_tensor *one, *sum;
    pgy_status st = pgy_gs_get_node(&first, g, "myIdentity0", err);
    if (!st) st = make_weight(&one, g, "constant0", 1, 0, 4, (int64_t[]){1, 1, 1, 1}, err);
    if (!st) st = pgy_gs_variable(&sum, g, "tensor3", PGY_F32, -1, NULL, err);
    if (!st) st = add_node(g, "Add", "myAdd", TENSORS(first->outputs[0], one), TENSORS(sum), err);
    pgy_gs_node *next = st ? NULL : pgy_gs_node_o(first, 0, 0);
    if (!st && (!next || strcmp(next->name, "myIdentity1") != 0)) st = pgy_error_set(err, PGY_E_INTERNAL, "expected myIdentity1 as the first consumer");
    return st ? st : pgy_gs_set_input(next, 0, sum, err);
}

static pgy_status work(char **paths, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = build(g, err);
    if (!st) st = write_model(g, paths[0], err);
    if (!st) st = insert(g, err);
    if (!st) st = tidy(g, err);
    if (!st) st = write_model(g, paths[1], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 2, work);
}

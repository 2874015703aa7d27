/* SPDX-License-Identifier: Apache-2.0 */
/* A piece of a graph: what a node reads becomes the input, what it makes the outputs; cleaning removes the rest.
 *
 *     08_isolate_a_subgraph before.onnx after.onnx
 */
#include "../common.h"

static pgy_status build(pgy_gs_graph *g, int32_t inner_rank, pgy_error *err)
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

static pgy_status isolate(pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_node *add;
    pgy_status st = pgy_gs_get_node(&add, g, "myAdd", err);
    if (!st) st = pgy_gs_set_graph_inputs(g, add->inputs, 1, err);
    return st ? st : pgy_gs_set_graph_outputs(g, add->outputs, add->output_count, err);
}

static pgy_status work(char **paths, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = build(g, 4, err);
    if (!st) st = write_model(g, paths[0], err);
    if (!st) st = isolate(g, err);
    if (!st) st = tidy(g, err);
    if (!st) st = write_model(g, paths[1], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 2, work);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The piece of a model between two tensors, found by their names.
 *
 *     12_isolate_between_tensors before.onnx after.onnx
 */
#include "../common.h"

/* Y = x0 + (a * x1 + b); inner shapes are declared or not. */
static pgy_status build(pgy_gs_graph *g, int32_t inner_rank, pgy_error *err)
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

static pgy_status isolate(pgy_gs_graph *g, pgy_error *err)
{
    pgy_gs_tensor *from, *to;
    pgy_status st = pgy_gs_get_tensor(&from, g, "x1", err);
    if (!st) st = pgy_gs_get_tensor(&to, g, "add_out", err);
    if (!st) st = set_io(g, from, to, err);
    return st ? st : pgy_gs_cleanup(g, NULL, err);
}

static pgy_status work(char **paths, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = build(g, -1, err);
    if (!st) st = write_model(g, paths[0], err);
    if (!st) st = isolate(g, err);
    if (!st) st = write_model(g, paths[1], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 2, work);
}

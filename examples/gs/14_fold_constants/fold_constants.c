/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of constants become one constant.
 *
 *     14_fold_constants before.onnx after.onnx
 */
#include "../common.h"

static pgy_status build(pgy_gs_graph *g, pgy_error *err)
{
    const pgy_dim row[] = {{1, NULL}, {3, NULL}};
    const int64_t shape[] = {1, 3};
    pgy_gs_tensor *x, *a, *b, *c, *d, *e, *y;
    pgy_status st = pgy_gs_variable(&x, g, "input", PGY_F32, 2, row, err);
    if (!st) st = make_weight(&a, g, "a", 1, 0, 2, shape, err);
    if (!st) st = make_weight(&b, g, "b", 1, 0, 2, shape, err);
    if (!st) st = pgy_gs_variable(&c, g, "c", PGY_F32, -1, NULL, err);
    if (!st) st = make_weight(&d, g, "d", 1, 0, 2, shape, err);
    if (!st) st = pgy_gs_variable(&e, g, "e", PGY_F32, -1, NULL, err);
    if (!st) st = pgy_gs_variable(&y, g, "output", PGY_F32, 2, row, err);
    if (!st) st = add_node(g, "Add", NULL, TENSORS(a, b), TENSORS(c), err);
    if (!st) st = add_node(g, "Add", NULL, TENSORS(c, d), TENSORS(e), err);
    if (!st) st = add_node(g, "Add", NULL, TENSORS(x, e), TENSORS(y), err);
    return st ? st : set_io(g, x, y, err);
}

static pgy_status work(char **paths, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = build(g, err);
    if (!st) st = write_model(g, paths[0], err);
    if (!st) st = pgy_gs_fold_constants(g, NULL, err);
    if (!st) st = pgy_gs_cleanup(g, NULL, err);
    if (!st) st = write_model(g, paths[1], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 2, work);
}

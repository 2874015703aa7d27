/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution with a weight that is kept in the model.
 *
 *     11_create_with_weights conv.onnx
 */
#include "../common.h"

static pgy_status work(char **paths, pgy_error *err)
{
    const pgy_dim before[] = {{1, NULL}, {3, NULL}, {224, NULL}, {224, NULL}}, after[] = {{1, NULL}, {5, NULL}, {222, NULL}, {222, NULL}};
    pgy_gs_graph *g = NULL;
    pgy_gs_tensor *x, *y, *w;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = pgy_gs_variable(&x, g, "X", PGY_F32, 4, before, err);
    if (!st) st = pgy_gs_variable(&y, g, "Y", PGY_F32, 4, after, err);
    if (!st) st = make_weight(&w, g, "W", 1, 0, 4, (int64_t[]){5, 3, 3, 3}, err);
    if (!st) st = add_node(g, "Conv", NULL, TENSORS(x, w), TENSORS(y), err);
    if (!st) st = set_io(g, x, y, err);
    if (!st) st = write_model(g, paths[0], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 1, work);
}

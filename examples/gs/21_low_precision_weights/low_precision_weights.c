/* SPDX-License-Identifier: Apache-2.0 */
/* Weights in types that C lacks: bfloat16 in one model, an 8-bit float in another.
 *
 *     21_low_precision_weights bfloat16.onnx float8.onnx
 */
#include "../common.h"

static pgy_status make_half(pgy_tensor **out, pgy_dtype dtype, pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_status st = pgy_tensor_create(&t, PGY_F32, 4, (int64_t[]){5, 3, 3, 3}, err);
    for (size_t i = 0; !st && i < pgy_tensor_count(t); i++) ((float *)pgy_tensor_data(t))[i] = 0.5f;
    if (!st) st = pgy_tensor_cast(out, pgy_tensor_view(t), dtype, err);
    pgy_tensor_release(t);
    return st;
}

static pgy_status write_with(pgy_dtype dtype, const char *path, pgy_error *err)
{
    const pgy_dim before[] = {{1, NULL}, {3, NULL}, {224, NULL}, {224, NULL}}, after[] = {{1, NULL}, {5, NULL}, {222, NULL}, {222, NULL}};
    pgy_gs_graph *g = NULL;
    pgy_tensor *half = NULL;
    pgy_gs_tensor *x, *y, *w;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = make_half(&half, dtype, err);
    if (!st) st = pgy_gs_variable(&x, g, "X", PGY_F32, 4, before, err);
    if (!st) st = pgy_gs_variable(&y, g, "Y", PGY_F32, 4, after, err);
    if (!st) st = pgy_gs_constant(&w, g, "W", half, err);
    if (!st) st = add_node(g, "Conv", NULL, TENSORS(x, w), TENSORS(y), err);
    if (!st) st = set_io(g, x, y, err);
    if (!st) st = write_model(g, path, err);
    pgy_tensor_release(half);
    pgy_gs_destroy(g);
    return st;
}

static pgy_status work(char **paths, pgy_error *err)
{
    const pgy_status st = write_with(PGY_BF16, paths[0], err);
    return st ? st : write_with(PGY_F8E4M3FN, paths[1], err);
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 2, work);
}

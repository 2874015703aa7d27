/* SPDX-License-Identifier: Apache-2.0 */
/* Builds layers: arrays become weights, and strings become tensors, with numbered names.
 *
 *     16_layers layers.onnx
 */
#include "../common.h"

static pgy_status make_array(pgy_tensor **out, float value, float step, pgy_error *err)
{
    pgy_status st = pgy_tensor_create(out, PGY_F32, 2, (int64_t[]){64, 64}, err);
    for (size_t i = 0; !st && i < 64 * 64; i++) ((float *)pgy_tensor_data(*out))[i] = value + step * (float)(i % 7);
    return st;
}

static pgy_status add_binary(pgy_gs_tensor **x, pgy_gs_graph *g, const char *op, pgy_tensor *array, const char *name, pgy_error *err)
{
    const pgy_gs_operand inputs[] = {pgy_gs_tensor_operand(*x), pgy_gs_array_operand(array)};
    return add_layer(x, g, op, inputs, 2, name, NULL, 0, err);
}

static pgy_status build(pgy_gs_graph *g, pgy_tensor *pattern, pgy_tensor *half, pgy_tensor *one, pgy_error *err)
{
    const pgy_dim square[] = {{64, NULL}, {64, NULL}};
    const pgy_gs_attr attrs[] = {pgy_gs_attr_int("transA", 0), pgy_gs_attr_int("transB", 1)};
    pgy_gs_tensor *x, *y, *c;
    pgy_status st = pgy_gs_variable(&x, g, "X", PGY_F32, 2, square, err);
    if (!st) st = add_layer(&y, g, "Gemm", (pgy_gs_operand[]){pgy_gs_array_operand(pattern), pgy_gs_tensor_operand(x)}, 2, "gemm_out_gs", attrs, 2, err);
    if (!st) st = add_binary(&y, g, "Add", half, "add_out_gs", err);
    if (!st) st = add_layer(&y, g, "Relu", (pgy_gs_operand[]){pgy_gs_tensor_operand(y)}, 1, "act_out_gs", NULL, 0, err);
    if (!st) st = pgy_gs_constant(&c, g, "C", pattern, err);
    if (!st)
        st = add_layer(&y, g, "Mul", (pgy_gs_operand[]){pgy_gs_tensor_operand(y), pgy_gs_tensor_operand(c)}, 2, "mul_out_gs", NULL, 0, err);
    if (!st) st = add_binary(&y, g, "Add", one, "add_out_gs", err);
    if (!st) st = pgy_gs_set_type(y, PGY_F32, -1, NULL, err);
    return st ? st : set_io(g, x, y, err);
}

static pgy_status work(char **paths, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_tensor *pattern = NULL, *half = NULL, *one = NULL;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = make_array(&pattern, 0, 0.25f, err);
    if (!st) st = make_array(&half, 0.5f, 0, err);
    if (!st) st = make_array(&one, 1, 0, err);
    if (!st) st = build(g, pattern, half, one, err);
    if (!st) st = write_model(g, paths[0], err);
    pgy_tensor_release(one);
    pgy_tensor_release(half);
    pgy_tensor_release(pattern);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 1, work);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the batch size of a model dynamic: the input's first dimension gets a name, and the
 * constant of a Reshape a -1. The declared shapes of tensors that depend on the input would be
 * stale, so they are removed and inferred again.
 *
 *     19_dynamic_batch fixed.onnx dynamic.onnx
 */
#include "../common.h"

static pgy_status make_shape(pgy_tensor **out, int64_t batch, pgy_error *err)
{
    pgy_status st = pgy_tensor_create(out, PGY_I64, 1, (int64_t[]){2}, err);
    if (!st) ((int64_t *)pgy_tensor_data(*out))[0] = batch;
    if (!st) ((int64_t *)pgy_tensor_data(*out))[1] = 21632;
    return st;
}

static pgy_status add_conv(pgy_gs_graph *g, pgy_gs_tensor *const *inputs, pgy_gs_tensor *y, pgy_error *err)
{
    const pgy_gs_attr kernel = pgy_gs_attr_ints("kernel_shape", (int64_t[]){3, 3}, 2);
    const pgy_gs_node_spec spec = {
        .op = "Conv", .name = "conv", .inputs = inputs, .input_count = 2, .outputs = &y, .output_count = 1, .attrs = &kernel, .attr_count = 1};
    pgy_gs_node *n;
    return pgy_gs_add_node(&n, g, &spec, err);
}

static pgy_status build(pgy_gs_graph *g, pgy_tensor *target, pgy_error *err)
{
    const pgy_dim image[] = {{1, NULL}, {3, NULL}, {28, NULL}, {28, NULL}}, maps[] = {{1, NULL}, {32, NULL}, {26, NULL}, {26, NULL}};
    const pgy_dim row[] = {{1, NULL}, {21632, NULL}}, scores[] = {{1, NULL}, {10, NULL}};
    pgy_gs_tensor *x, *conv, *flat, *y, *conv_w, *w, *shape;
    pgy_status st = pgy_gs_variable(&x, g, "input_1", PGY_F32, 4, image, err);
    if (!st) st = pgy_gs_variable(&conv, g, "conv_out", PGY_F32, 4, maps, err);
    if (!st) st = pgy_gs_variable(&flat, g, "reshape_out", PGY_F32, 2, row, err);
    if (!st) st = pgy_gs_variable(&y, g, "output_1", PGY_F32, 2, scores, err);
    if (!st) st = make_weight(&conv_w, g, "conv_w", 0, 0.25f, 4, (int64_t[]){32, 3, 3, 3}, err);
    if (!st) st = make_weight(&w, g, "matmul_w", 0, 0.25f, 2, (int64_t[]){21632, 10}, err);
    if (!st) st = pgy_gs_constant(&shape, g, "shape", target, err);
    if (!st) st = add_conv(g, (pgy_gs_tensor *[]){x, conv_w}, conv, err);
    if (!st) st = add_node(g, "Reshape", "reshape", TENSORS(conv, shape), TENSORS(flat), err);
    if (!st) st = add_node(g, "MatMul", "matmul", TENSORS(flat, w), TENSORS(y), err);
    return st ? st : set_io(g, x, y, err);
}

static pgy_status make_dynamic(pgy_gs_graph *g, pgy_tensor *target, pgy_error *err)
{
    const pgy_dim image[] = {{-1, "N"}, {3, NULL}, {28, NULL}, {28, NULL}};
    pgy_gs_node *reshape;
    pgy_status st = pgy_gs_set_type(g->inputs[0], PGY_F32, 4, image, err);
    if (!st) st = pgy_gs_forget_shapes(g, g->inputs[0], false, err);
    if (!st) st = pgy_gs_get_node(&reshape, g, "reshape", err);
    if (!st) st = pgy_gs_to_constant(reshape->inputs[1], target, err);
    return st ? st : pgy_gs_infer_shapes(g, err);
}

static pgy_status work(char **paths, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_tensor *fixed = NULL, *dynamic = NULL;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = make_shape(&fixed, 1, err);
    if (!st) st = make_shape(&dynamic, -1, err);
    if (!st) st = build(g, fixed, err);
    if (!st) st = write_model(g, paths[0], err);
    if (!st) st = make_dynamic(g, dynamic, err);
    if (!st) st = write_model(g, paths[1], err);
    pgy_tensor_release(dynamic);
    pgy_tensor_release(fixed);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 2, work);
}

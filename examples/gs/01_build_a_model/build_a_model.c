/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a graph with a convolution, a bias and a ReLU; the shapes of two tensors are not declared.
 *
 *     01_build_a_model built.onnx
 */
#include "../common.h"

static pgy_status add_conv(pgy_gs_graph *g, pgy_gs_tensor *x, pgy_gs_tensor *w, pgy_gs_tensor *y, pgy_error *err)
{
    const pgy_gs_attr attrs[] = {
        pgy_gs_attr_ints("dilations", (int64_t[]){1, 1}, 2),
        pgy_gs_attr_ints("kernel_shape", (int64_t[]){3, 3}, 2),
        pgy_gs_attr_ints("pads", (int64_t[]){1, 1, 1, 1}, 4),
        pgy_gs_attr_ints("strides", (int64_t[]){1, 1}, 2),
    };
    pgy_gs_tensor *inputs[] = {x, w};
    const pgy_gs_node_spec spec = {
        .op = "Conv", .name = "myConv", .inputs = inputs, .input_count = 2, .outputs = &y, .output_count = 1, .attrs = attrs, .attr_count = COUNT(attrs)};
    pgy_gs_node *n;
    return pgy_gs_add_node(&n, g, &spec, err);
}

static pgy_status work(char **paths, pgy_error *err)
{
    const pgy_dim image[] = {{-1, "B"}, {3, NULL}, {64, NULL}, {64, NULL}}, plane[] = {{-1, "B"}, {1, NULL}, {64, NULL}, {64, NULL}};
    pgy_gs_graph *g = NULL;
    pgy_gs_tensor *x, *t1, *t2, *y, *w, *bias;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = pgy_gs_variable(&x, g, "tensor0", PGY_F32, 4, image, err);
    if (!st) st = pgy_gs_variable(&t1, g, "tensor1", PGY_F32, 4, plane, err);
    if (!st) st = pgy_gs_variable(&t2, g, "tensor2", PGY_F32, -1, NULL, err);
    if (!st) st = pgy_gs_variable(&y, g, "tensor3", PGY_F32, -1, NULL, err);
    if (!st) st = make_weight(&w, g, "constant0", 1, 0, 4, (int64_t[]){1, 3, 3, 3}, err);
    if (!st) st = make_weight(&bias, g, "constant1", 1, 0, 1, (int64_t[]){1}, err);
    if (!st) st = add_conv(g, x, w, t1, err);
    if (!st) st = add_node(g, "Add", "myAdd", TENSORS(t1, bias), TENSORS(t2), err);
    if (!st) st = add_node(g, "Relu", "myRelu", TENSORS(t2), TENSORS(y), err);
    if (!st) st = set_io(g, x, y, err);
    if (!st) st = tidy(g, err);
    if (!st) st = write_model(g, paths[0], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 1, work);
}

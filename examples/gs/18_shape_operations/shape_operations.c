/* SPDX-License-Identifier: Apache-2.0 */
/* Flattens all dimensions, and the last two, of a shape that is known only at run time.
 *
 *     18_shape_operations flattened.onnx
 */
#include "../common.h"

static pgy_status reduce_prod(pgy_gs_tensor **out, pgy_gs_graph *g, pgy_gs_tensor *x, pgy_error *err)
{
    const pgy_gs_attr attrs[] = {pgy_gs_attr_ints("axes", (int64_t[]){0}, 1), pgy_gs_attr_int("keepdims", 1)};
    const pgy_gs_operand input = pgy_gs_tensor_operand(x);
    return add_layer(out, g, "ReduceProd", &input, 1, "reduce_prod_out_gs", attrs, 2, err);
}

static pgy_status gather(pgy_gs_tensor **out, pgy_gs_graph *g, pgy_gs_tensor *x, int64_t from, pgy_error *err)
{
    const pgy_gs_operand inputs[] = {pgy_gs_tensor_operand(x), pgy_gs_ints_operand((int64_t[]){from, from + 1}, 2)};
    return add_layer(out, g, "Gather", inputs, 2, "gather_out_gs", NULL, 0, err);
}

static pgy_status reshape(pgy_gs_tensor **out, pgy_gs_graph *g, pgy_gs_tensor *x, pgy_gs_tensor *shape, const char *name, pgy_error *err)
{
    const pgy_gs_operand inputs[] = {pgy_gs_tensor_operand(x), pgy_gs_tensor_operand(shape)};
    pgy_status st = add_layer(out, g, "Reshape", inputs, 2, "reshape_out_gs", NULL, 0, err);
    if (!st) st = pgy_gs_rename(*out, name, err);
    return st ? st : pgy_gs_set_type(*out, PGY_F32, -1, NULL, err);
}

static pgy_status build(pgy_gs_graph *g, pgy_error *err)
{
    const pgy_dim dims[] = {{-1, NULL}, {3, NULL}, {-1, NULL}, {5, NULL}};
    const pgy_gs_attr axis = pgy_gs_attr_int("axis", 0);
    pgy_gs_tensor *x, *shape, *size, *flat, *front, *back, *target, *partly;
    pgy_status st = pgy_gs_variable(&x, g, "data", PGY_F32, 4, dims, err);
    if (!st) st = add_layer(&shape, g, "Shape", (pgy_gs_operand[]){pgy_gs_tensor_operand(x)}, 1, "shape_out_gs", NULL, 0, err);
    if (!st) st = reduce_prod(&size, g, shape, err);
    if (!st) st = reshape(&flat, g, x, size, "flattened", err);
    if (!st) st = gather(&front, g, shape, 0, err);
    if (!st) st = gather(&back, g, shape, 2, err);
    if (!st) st = reduce_prod(&back, g, back, err);
    if (!st)
        st = add_layer(&target, g, "Concat", (pgy_gs_operand[]){pgy_gs_tensor_operand(front), pgy_gs_tensor_operand(back)}, 2, "concat_out_gs", &axis, 1,
                       err);
    if (!st) st = reshape(&partly, g, x, target, "partially_flattened", err);
    if (!st) st = pgy_gs_set_graph_inputs(g, &x, 1, err);
    return st ? st : pgy_gs_set_graph_outputs(g, TENSORS(flat, partly), err);
}

static pgy_status work(char **paths, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = build(g, err);
    if (!st) st = write_model(g, paths[0], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 1, work);
}

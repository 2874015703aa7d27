/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on shapes that folds once the input's shape is known: without folding, with a static
 * shape, with a dynamic one (nothing to fold), and with a shape of which two dimensions are known.
 *
 *     07_simplify_shapes dynamic.onnx static.onnx unchanged.onnx partly.onnx
 */
#include "../common.h"

static pgy_status add_with(pgy_gs_graph *g, const char *op, const char *name, pgy_gs_tensor *const *inputs, size_t input_count, pgy_gs_tensor *out,
                           const pgy_gs_attr *attrs, size_t attr_count, pgy_error *err)
{
    const pgy_gs_node_spec spec = {.op = op,
                                   .name = name,
                                   .inputs = inputs,
                                   .input_count = input_count,
                                   .outputs = &out,
                                   .output_count = 1,
                                   .attrs = attrs,
                                   .attr_count = attr_count};
    pgy_gs_node *n;
    return pgy_gs_add_node(&n, g, &spec, err);
}

static pgy_status make_index(pgy_gs_tensor **out, pgy_gs_graph *g, const char *name, int32_t first, pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_status st = pgy_tensor_create(&t, PGY_I32, 1, (int64_t[]){2}, err);
    for (int32_t i = 0; !st && i < 2; i++) ((int32_t *)pgy_tensor_data(t))[i] = first + i;
    if (!st) st = pgy_gs_constant(out, g, name, t, err);
    pgy_tensor_release(t);
    return st;
}

static pgy_status make_variables(pgy_gs_tensor **t, pgy_gs_graph *g, pgy_error *err)
{
    const pgy_dim shape[] = {{-1, "A"}, {3, NULL}, {-1, "B"}, {5, NULL}};
    pgy_status st = PGY_OK;
    for (int i = 0; !st && i < 9; i++) {
        char name[16];
        snprintf(name, sizeof name, "tensor%d", i);
        st = pgy_gs_variable(&t[i], g, name, i == 0 || i == 3 || i == 8 ? PGY_F32 : PGY_I64, i ? -1 : 4, shape, err);
    }
    return st;
}

static pgy_status build(pgy_gs_graph *g, pgy_error *err)
{
    const pgy_gs_attr product[] = {pgy_gs_attr_ints("axes", (int64_t[]){0}, 1), pgy_gs_attr_int("keepdims", 1)};
    const pgy_gs_attr axis = pgy_gs_attr_int("axis", 0);
    pgy_gs_tensor *t[9], *front, *back;
    pgy_status st = make_variables(t, g, err);
    if (!st) st = make_index(&front, g, "constant0", 0, err);
    if (!st) st = make_index(&back, g, "constant1", 2, err);
    if (!st) st = add_node(g, "Shape", "myShape", TENSORS(t[0]), TENSORS(t[1]), err);
    if (!st) st = add_with(g, "ReduceProd", "myReduceProd0", TENSORS(t[1]), t[2], product, 2, err);
    if (!st) st = add_node(g, "Reshape", "myReshape0", TENSORS(t[0], t[2]), TENSORS(t[3]), err);
    if (!st) st = add_node(g, "Gather", "myGather0", TENSORS(t[1], front), TENSORS(t[4]), err);
    if (!st) st = add_node(g, "Gather", "myGather1", TENSORS(t[1], back), TENSORS(t[5]), err);
    if (!st) st = add_with(g, "ReduceProd", "myReduceProd1", TENSORS(t[5]), t[6], product, 2, err);
    if (!st) st = add_with(g, "Concat", "myConcat", TENSORS(t[4], t[6]), t[7], &axis, 1, err);
    if (!st) st = add_node(g, "Reshape", "myReshape1", TENSORS(t[0], t[7]), TENSORS(t[8]), err);
    if (!st) st = pgy_gs_set_graph_inputs(g, t, 1, err);
    if (!st) st = pgy_gs_set_graph_outputs(g, TENSORS(t[3], t[8]), err);
    return st ? st : tidy(g, err);
}

static pgy_status write_folded(const pgy_gs_graph *g, const pgy_dim *shape, const char *path, pgy_error *err)
{
    pgy_gs_graph *copy = NULL;
    pgy_status st = pgy_gs_copy(&copy, g, err);
    if (!st && shape) st = pgy_gs_set_type(copy->inputs[0], PGY_F32, 4, shape, err);
    if (!st) st = pgy_gs_fold_constants(copy, NULL, err);
    if (!st) st = tidy(copy, err);
    if (!st) st = write_model(copy, path, err);
    pgy_gs_destroy(copy);
    return st;
}

static pgy_status work(char **paths, pgy_error *err)
{
    const pgy_dim known[] = {{2, NULL}, {3, NULL}, {4, NULL}, {5, NULL}}, partly[] = {{-1, "A"}, {3, NULL}, {224, NULL}, {5, NULL}};
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = build(g, err);
    if (!st) st = write_model(g, paths[0], err);
    if (!st) st = write_folded(g, known, paths[1], err);
    if (!st) st = write_folded(g, NULL, paths[2], err);
    if (!st) st = write_folded(g, partly, paths[3], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 4, work);
}

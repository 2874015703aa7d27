/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a model, reads it again, and replaces the nodes between three tensors and a fourth by one
 * node. Numbering starts at 0 after reading.
 *
 *     17_replace_a_region before.onnx after.onnx
 */
#include "../common.h"

/* Adds a node that reads *x and, if it is not NULL, a bound. *x becomes its output. */
static pgy_status add_bounded(pgy_gs_tensor **x, pgy_gs_graph *g, const char *op, const float *bound, const char *name, pgy_error *err)
{
    pgy_tensor *values = NULL;
    pgy_status st = bound ? pgy_tensor_create(&values, PGY_F32, 0, NULL, err) : PGY_OK;
    if (!st && bound) *(float *)pgy_tensor_data(values) = *bound;
    const pgy_gs_operand inputs[] = {pgy_gs_tensor_operand(*x), pgy_gs_array_operand(values)};
    if (!st) st = add_layer(x, g, op, inputs, bound ? 2 : 1, name, NULL, 0, err);
    pgy_tensor_release(values);
    return st;
}

static pgy_status build(pgy_gs_graph *g, pgy_error *err)
{
    const pgy_dim square[] = {{4, NULL}, {4, NULL}};
    const float six = 6, zero = 0;
    pgy_gs_tensor *x, *y;
    pgy_status st = pgy_gs_variable(&x, g, "input", PGY_F32, 2, square, err);
    y = x;
    if (!st) st = add_bounded(&y, g, "Identity", NULL, "identity_out", err);
    if (!st) st = add_bounded(&y, g, "Min", &six, "min_out", err);
    if (!st) st = add_bounded(&y, g, "Max", &zero, "max_out", err);
    if (!st) st = add_bounded(&y, g, "Identity", NULL, "identity_out", err);
    if (!st) st = pgy_gs_set_type(y, PGY_F32, 2, square, err);
    return st ? st : set_io(g, x, y, err);
}

static pgy_status clip(pgy_gs_graph *g, pgy_error *err)
{
    static const char *const NAMES[] = {"identity_out_0", "onnx_graphsurgeon_constant_5", "onnx_graphsurgeon_constant_2", "max_out_6"};
    pgy_gs_operand t[4];
    pgy_status st = find_operands(t, g, NAMES, 4, err);
    if (st) return st;
    for (size_t i = 0; i < 3; i++) pgy_gs_clear_consumers(t[i].value.tensor);
    pgy_gs_clear_producers(t[3].value.tensor);
    const pgy_gs_layer_spec spec = {.op = "Clip", .inputs = t, .input_count = 3, .outputs = t + 3, .output_count = 1};
    pgy_gs_node *n;
    st = pgy_gs_layer(&n, g, &spec, err);
    return st ? st : tidy(g, err);
}

static pgy_status write_clipped(const char *from, const char *to, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_model_load(&model, from, NULL, err);
    if (!st) st = pgy_gs_import(&g, model, err);
    if (!st) st = clip(g, err);
    if (!st) st = write_model(g, to, err);
    pgy_gs_destroy(g);
    pgy_model_destroy(model);
    return st;
}

static pgy_status work(char **paths, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = build(g, err);
    if (!st) st = write_model(g, paths[0], err);
    pgy_gs_destroy(g);
    return st ? st : write_clipped(paths[0], paths[1], err);
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 2, work);
}

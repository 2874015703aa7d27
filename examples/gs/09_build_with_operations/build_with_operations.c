/* SPDX-License-Identifier: Apache-2.0 */
/* Registers operations for all opsets or for some, and calls them by name; they give their tensors
 * and nodes numbered names. Then an operation replaces Min and Max by one Clip.
 *
 *     09_build_with_operations built.onnx clipped.onnx
 */
#include "../common.h"

/* Adds the operator that `user` names, with the inputs, outputs and attributes of the call. */
static pgy_status build_one(pgy_gs_node **out, pgy_gs_graph *g, const pgy_gs_call *call, void *user, pgy_error *err)
{
    const pgy_gs_layer_spec spec = {.op = user,
                                    .inputs = call->inputs,
                                    .input_count = call->input_count,
                                    .outputs = call->outputs,
                                    .output_count = call->output_count,
                                    .attrs = call->attrs,
                                    .attr_count = call->attr_count};
    return pgy_gs_layer(out, g, &spec, err);
}

static pgy_status refuse(pgy_gs_node **out, pgy_gs_graph *g, const pgy_gs_call *call, void *user, pgy_error *err)
{
    (void)out, (void)g, (void)call, (void)user;
    return pgy_error_set(err, PGY_E_INTERNAL, "the operation of another opset was called");
}

static pgy_status replace_with_clip(pgy_gs_node **out, pgy_gs_graph *g, const pgy_gs_call *call, void *user, pgy_error *err)
{
    (void)user;
    for (size_t i = 0; i < call->input_count; i++) pgy_gs_clear_consumers(call->inputs[i].value.tensor);
    for (size_t i = 0; i < call->output_count; i++) pgy_gs_clear_producers(call->outputs[i].value.tensor);
    return build_one(out, g, call, "Clip", err);
}

static pgy_status register_all(pgy_gs_graph *g, pgy_error *err)
{
    static const int64_t OPSET_11[] = {11}, OPSET_1[] = {1};
    const pgy_gs_operation operations[] = {
        {.name = "add", .min_inputs = 2, .max_inputs = 2, .build = build_one, .user = "Add"},
        {.name = "mul", .min_inputs = 2, .max_inputs = 2, .build = build_one, .user = "Mul"},
        {.name = "gemm", .min_inputs = 2, .max_inputs = 2, .build = build_one, .user = "Gemm"},
        {.name = "min", .min_inputs = 2, .max_inputs = 2, .build = build_one, .user = "Min"},
        {.name = "max", .min_inputs = 2, .max_inputs = 2, .build = build_one, .user = "Max"},
        {.name = "relu", .opsets = OPSET_11, .opset_count = 1, .min_inputs = 1, .max_inputs = 1, .build = build_one, .user = "Relu"},
        {.name = "relu", .opsets = OPSET_1, .opset_count = 1, .min_inputs = 1, .max_inputs = 1, .build = refuse},
        {.name = "replace_with_clip", .min_inputs = 3, .max_inputs = 3, .input_kinds = "ttt", .build = replace_with_clip},
    };
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < COUNT(operations); i++) st = pgy_gs_register(g, &operations[i], err);
    return st;
}

/* Sets *x to the result of an operation on it and, if it is not NULL, `other`. */
static pgy_status apply(pgy_gs_tensor **x, pgy_gs_graph *g, const char *operation, pgy_gs_tensor *other, const char *name, pgy_error *err)
{
    const pgy_gs_operand inputs[] = {pgy_gs_tensor_operand(*x), pgy_gs_tensor_operand(other)}, output = pgy_gs_name_operand(name);
    const pgy_gs_call call = {.inputs = inputs, .input_count = other ? 2 : 1, .outputs = &output, .output_count = 1};
    pgy_gs_node *n;
    pgy_status st = pgy_gs_invoke(&n, g, operation, &call, err);
    if (!st) *x = n->outputs[0];
    return st;
}

static pgy_status apply_gemm(pgy_gs_tensor **out, pgy_gs_graph *g, pgy_gs_tensor *a, pgy_gs_tensor *b, pgy_error *err)
{
    const pgy_gs_operand inputs[] = {pgy_gs_tensor_operand(a), pgy_gs_tensor_operand(b)}, output = pgy_gs_name_operand("myGgemm");
    const pgy_gs_attr attrs[] = {pgy_gs_attr_int("transA", 0), pgy_gs_attr_int("transB", 1)};
    const pgy_gs_call call = {.inputs = inputs, .input_count = 2, .outputs = &output, .output_count = 1, .attrs = attrs, .attr_count = 2};
    pgy_gs_node *n;
    pgy_status st = pgy_gs_invoke(&n, g, "gemm", &call, err);
    if (!st) *out = n->outputs[0];
    return st;
}

static pgy_status build(pgy_gs_graph *g, pgy_error *err)
{
    const pgy_dim square[] = {{64, NULL}, {64, NULL}};
    const int64_t full[] = {64, 64}, one[] = {1};
    pgy_gs_tensor *x, *y, *c[5];
    pgy_status st = pgy_gs_variable(&x, g, "tensor0", PGY_F32, 2, square, err);
    if (!st) st = make_weight(&c[0], g, "tensor1", 1, 0, 2, full, err);
    if (!st) st = make_weight(&c[1], g, "tensor2", 0.5f, 0, 2, full, err);
    if (!st) st = make_weight(&c[2], g, "tensor3", 1, 0, 2, full, err);
    if (!st) st = make_weight(&c[3], g, "tensor4", 3, 0, 1, one, err);
    if (!st) st = make_weight(&c[4], g, "tensor5", -3, 0, 1, one, err);
    if (!st) st = apply_gemm(&y, g, c[0], x, err);
    if (!st) st = apply(&y, g, "add", c[1], "myAdd", err);
    if (!st) st = apply(&y, g, "relu", NULL, "myReLU", err);
    if (!st) st = apply(&y, g, "mul", c[2], "myMul", err);
    if (!st) st = apply(&y, g, "min", c[3], "myMin", err);
    if (!st) st = apply(&y, g, "max", c[4], "myMax", err);
    if (!st) st = pgy_gs_set_type(y, PGY_F32, -1, NULL, err);
    return st ? st : set_io(g, x, y, err);
}

static pgy_status clip(pgy_gs_graph *g, pgy_error *err)
{
    static const char *const NAMES[] = {"myMul_6", "tensor5", "tensor4", "myMax_10"};
    pgy_gs_operand t[4];
    pgy_status st = find_operands(t, g, NAMES, 4, err);
    const pgy_gs_call call = {.inputs = t, .input_count = 3, .outputs = t + 3, .output_count = 1};
    pgy_gs_node *n;
    return st ? st : pgy_gs_invoke(&n, g, "replace_with_clip", &call, err);
}

static pgy_status work(char **paths, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    pgy_status st = pgy_gs_create(&g, err);
    if (!st) st = register_all(g, err);
    if (!st) st = build(g, err);
    if (!st) st = write_model(g, paths[0], err);
    if (!st) st = clip(g, err);
    if (!st) st = tidy(g, err);
    if (!st) st = write_model(g, paths[1], err);
    pgy_gs_destroy(g);
    return st;
}

int main(int argc, char **argv)
{
    return run_case(argc, argv, 2, work);
}

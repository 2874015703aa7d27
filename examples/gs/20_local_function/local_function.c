/* SPDX-License-Identifier: Apache-2.0 */
/* Self-attention as a function of the model, with three weights that every call must give and two
 * settings with defaults. The graph has four calls, each followed by a ReLU and a residual sum.
 *
 *     20_local_function attention.onnx
 */
#include "../common.h"

enum { SIZE = 4, LAYERS = 4 };
static const char *const WEIGHTS[] = {"Wq", "Wk", "Wv"};

/* A layer on at most two tensors, with at most one attribute. */
static pgy_status call_op(pgy_gs_tensor **out, pgy_gs_graph *g, const char *op, pgy_gs_tensor *const *inputs, size_t count, const char *name,
                          const pgy_gs_attr *attr, pgy_error *err)
{
    pgy_gs_operand operands[2];
    for (size_t i = 0; i < count; i++) operands[i] = pgy_gs_tensor_operand(inputs[i]);
    return add_layer(out, g, op, operands, count, name, attr, attr ? 1 : 0, err);
}

/* Adds the product of x and a weight that is an attribute of the call. */
static pgy_status project(pgy_gs_tensor **out, pgy_gs_graph *f, pgy_gs_tensor *x, const char *weight, const char *name, pgy_error *err)
{
    const pgy_gs_attr value = pgy_gs_attr_ref("value", weight, PGY_ATTR_TENSOR);
    pgy_gs_tensor *w;
    pgy_status st = call_op(&w, f, "Constant", NULL, 0, weight, &value, err);
    return st ? st : call_op(out, f, "MatMul", TENSORS(x, w), name, NULL, err);
}

static pgy_status build_body(pgy_gs_graph *f, pgy_error *err)
{
    const pgy_dim shape[] = {{-1, "batch"}, {-1, "seq"}, {SIZE, NULL}};
    const pgy_gs_attr perm = pgy_gs_attr_ref("perm", "transpose_perm", PGY_ATTR_INTS), root = pgy_gs_attr_ref("value_float", "sqrt_emb_dim", PGY_ATTR_FLOAT);
    const pgy_gs_attr axis = pgy_gs_attr_int("axis", 2);
    pgy_gs_tensor *x, *q, *k, *v, *turned, *scale, *scores, *y;
    pgy_status st = pgy_gs_variable(&x, f, "attn_in", PGY_F32, 3, shape, err);
    if (!st) st = project(&q, f, x, "Wq", "queries", err);
    if (!st) st = project(&k, f, x, "Wk", "keys", err);
    if (!st) st = project(&v, f, x, "Wv", "values", err);
    if (!st) st = call_op(&turned, f, "Transpose", TENSORS(k), "turned", &perm, err);
    if (!st) st = call_op(&scale, f, "Constant", NULL, 0, "root", &root, err);
    if (!st) st = call_op(&scores, f, "MatMul", TENSORS(q, turned), "products", NULL, err);
    if (!st) st = call_op(&scores, f, "Div", TENSORS(scores, scale), "scores", NULL, err);
    if (!st) st = call_op(&scores, f, "Softmax", TENSORS(scores), "weights", &axis, err);
    if (!st) st = call_op(&y, f, "MatMul", TENSORS(scores, v), "attn", NULL, err);
    if (!st) st = pgy_gs_set_type(y, PGY_F32, 3, shape, err);
    return st ? st : set_io(f, x, y, err);
}

static pgy_status make_function(pgy_gs_graph *g, pgy_error *err)
{
    const pgy_gs_attr perm = pgy_gs_attr_ints("transpose_perm", (int64_t[]){0, 2, 1}, 3), root = pgy_gs_attr_float("sqrt_emb_dim", 1);
    pgy_gs_graph *f = NULL;
    pgy_status st = pgy_gs_function(&f, g, "SelfAttention", NULL, err);
    if (!st) st = pgy_gs_set_opset(f, 18, err);
    for (size_t i = 0; !st && i < 3; i++) st = pgy_gs_add_parameter(f, WEIGHTS[i], NULL, err);
    if (!st) st = pgy_gs_add_parameter(f, perm.name, &perm, err);
    if (!st) st = pgy_gs_add_parameter(f, root.name, &root, err);
    return st ? st : build_body(f, err);
}

static pgy_status call_attention(pgy_gs_tensor **out, pgy_gs_graph *g, pgy_gs_tensor *x, int layer, pgy_error *err)
{
    const pgy_gs_operand input = pgy_gs_tensor_operand(x);
    pgy_gs_attr attrs[4];
    pgy_tensor *w[3] = {NULL};
    pgy_gs_node *n;
    pgy_status st = PGY_OK;
    for (int k = 0; !st && k < 3; k++) {
        st = pgy_tensor_create(&w[k], PGY_F32, 2, (int64_t[]){SIZE, SIZE}, err);
        for (int i = 0; !st && i < SIZE * SIZE; i++) ((float *)pgy_tensor_data(w[k]))[i] = ((float)(i % 7) / 4 + (float)layer) * (float)(k + 1);
        attrs[k] = pgy_gs_attr_tensor(WEIGHTS[k], w[k]);
    }
    attrs[3] = pgy_gs_attr_float("sqrt_emb_dim", 2);
    const pgy_gs_call call = {.inputs = &input, .input_count = 1, .attrs = attrs, .attr_count = layer ? 4 : 3};
    if (!st) st = pgy_gs_invoke(&n, g, "SelfAttention", &call, err);
    if (!st) *out = n->outputs[0];
    for (int k = 0; k < 3; k++) pgy_tensor_release(w[k]);
    return st;
}

static pgy_status build(pgy_gs_graph *g, pgy_error *err)
{
    const pgy_dim shape[] = {{-1, "batch"}, {-1, "seq"}, {SIZE, NULL}};
    pgy_gs_tensor *x = NULL, *y, *t;
    pgy_status st = pgy_gs_set_opset(g, 18, err);
    if (!st) st = make_function(g, err);
    if (!st) st = pgy_gs_variable(&x, g, "input", PGY_F32, 3, shape, err);
    y = x;
    for (int i = 0; !st && i < LAYERS; i++) {
        st = call_attention(&t, g, y, i, err);
        if (!st) st = call_op(&t, g, "Relu", TENSORS(t), "relu_out", NULL, err);
        if (!st) st = call_op(&y, g, "Add", TENSORS(t, y), "add_out", NULL, err);
    }
    if (!st) st = pgy_gs_set_type(y, PGY_F32, 3, shape, err);
    return st ? st : set_io(g, x, y, err);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Fuses nodes that read a DequantizeLinear and whose results stay floats: Conv and products of
 * 8-bit tensors become integer sums that are scaled to floats, with bias, residual and Relu. Then
 * constants that are still dequantised become float weights. */
#include <string.h>

#include "engine/passes/pass.h"
#include "engine/passes/pattern_quantized.h"

static const char CONV[] = "pgy:QuantizedConv", MATMUL[] = "pgy:QuantizedMatMul";

/* ---- Convolutions and products -------------------------------------------------------------- */

/* Makes the bias a float32 weight of `count` elements, or returns NULL. */
static pgy_value *float_bias(pattern *p, pgy_graph *level, pgy_value *v, size_t count)
{
    pgy_tensor *t = quantized_constant(p, v);
    const int64_t shape = (int64_t)count;
    pgy_value *made = NULL;
    if (t && pgy_tensor_count(t) == count)
        made = pattern_weight(p, level, "bias", PGY_F32, 1, &shape, op_f64(t));
    pgy_tensor_release(t);
    return made;
}

static bool fuse_conv(pattern *p, pgy_node *n)
{
    static const char *const KEPT[] = {"auto_pad",     "dilations", "group",
                                       "kernel_shape", "pads",      "strides"};
    quantized x, w;
    pgy_value *inputs[7] = {NULL};
    if (!pattern_is(n, "Conv") || pattern_dtype(n->outputs[0]) != PGY_F32) return false;
    if (!quantized_read(p, n->inputs[0], &x) || !quantized_read_weights(p, n->inputs[1], 0, &w))
        return false;
    const int64_t channels = pattern_size(w.x, 0);
    if (channels < 1 || !quantized_suits_window(n, w.x)) return false;
    if (pattern_input(n, 2) &&
        !(inputs[6] = float_bias(p, n->graph, n->inputs[2], (size_t)channels)))
        return false;
    quantized_put(p, n->graph, inputs, &x);
    quantized_put(p, n->graph, inputs + 3, &w);
    pgy_node *made = pattern_put(p, n, CONV, inputs, 7);
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++) pattern_copy(p, made, n, KEPT[i]);
    return true;
}

static bool fuse_matmul(pattern *p, pgy_node *n)
{
    quantized a, b;
    pgy_value *inputs[6];
    if (!pattern_is(n, "MatMul") || pattern_dtype(n->outputs[0]) != PGY_F32) return false;
    if (!quantized_read(p, n->inputs[0], &a)) return false;
    if (!quantized_read(p, n->inputs[1], &b) &&
        (!quantized_read_weights(p, n->inputs[1], -1, &b) || pattern_rank(b.x) != 2))
        return false;
    quantized_put(p, n->graph, inputs, &a);
    quantized_put(p, n->graph, inputs + 3, &b);
    (void)pattern_put(p, n, MATMUL, inputs, 6);
    return true;
}

/* QGemm writes floats here, but takes its bias as int32 in units of the integer sums. */
static bool fuse_gemm(pattern *p, pgy_node *n)
{
    quantized a, b;
    pgy_value *inputs[7] = {NULL};
    if (!pattern_is(n, "Gemm") || pattern_dtype(n->outputs[0]) != PGY_F32) return false;
    const bool turn_b = pattern_int(n, "transB", 0) != 0;
    if (!quantized_read(p, n->inputs[0], &a) ||
        !quantized_read_weights(p, n->inputs[1], turn_b ? 0 : 1, &b))
        return false;
    const int64_t columns = pattern_size(b.x, turn_b ? 0 : 1);
    const int64_t depth = pattern_size(b.x, turn_b ? 1 : 0);
    const double alpha = pattern_float(n, "alpha", 1);
    if (columns < 1 || depth < 1 || depth > 32768 || !(alpha > 0)) return false;
    pgy_value *c = pattern_input(n, 2);
    if (c && (pattern_float(n, "beta", 1) != 1 || pattern_size(c, -1) != columns)) return false;
    if (c && !(inputs[6] =
                   quantized_bias(p, n->graph, c, &a, &b, (size_t)columns, (size_t)depth, alpha)))
        return false;
    quantized_put(p, n->graph, inputs, &a);
    quantized_put(p, n->graph, inputs + 3, &b);
    pgy_node *made = pattern_put(p, n, "com.microsoft:QGemm", inputs, 7);
    pattern_copy(p, made, n, "alpha");
    pattern_copy(p, made, n, "transA");
    pattern_copy(p, made, n, "transB");
    return true;
}

/* ---- What is added -------------------------------------------------------------------------- */

static bool is_open(const pgy_node *n)
{
    return (pattern_is(n, CONV) || pattern_is(n, MATMUL)) && !node_attribute(n, "activation");
}

static pgy_node *extend(pattern *p, pgy_node *n, pgy_node *last, size_t place, pgy_value *v)
{
    pgy_value *inputs[8];
    for (size_t i = 0; i < 8; i++) inputs[i] = pattern_input(n, i);
    if (v) inputs[place] = v;
    pgy_node *made = pattern_put(p, last, pattern_is(n, CONV) ? CONV : MATMUL, inputs, 8);
    if (made) quantized_copy(p, made, n);
    return made;
}

/* Adds a bias for each column of a product, or a residual. */
static bool add_more(pattern *p, pgy_node *n)
{
    pgy_node *add = pattern_user(n);
    if (!is_open(n) || pattern_input(n, 7) || !pattern_is(add, "Add")) return false;
    pgy_value *other = pattern_other(add, n->outputs[0]);
    if (!other || pattern_dtype(other) != PGY_F32) return false;
    const bool is_bias = pattern_is(n, MATMUL) && !pattern_input(n, 6) &&
                         pattern_rank(other) == 1 && pattern_rank(n->inputs[3]) >= 2 &&
                         pattern_same_size(other, 0, n->outputs[0], -1);
    if (is_bias) {
        extend(p, n, add, 6, other);
        return true;
    }
    if (!pattern_same_shape(other, n->outputs[0])) return false;
    extend(p, n, add, 7, other);
    return true;
}

static bool add_relu(pattern *p, pgy_node *n)
{
    pgy_node *relu = pattern_user(n);
    if (!is_open(n) || !pattern_is(relu, "Relu")) return false;
    pgy_node *made = extend(p, n, relu, 0, NULL);
    pattern_set_text(p, made, "activation", "Relu");
    return true;
}

/* ---- Weights -------------------------------------------------------------------------------- */

static bool fold_weight(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "DequantizeLinear") || n->outputs[0]->is_output) return false;
    const pgy_dtype type = pattern_dtype(n->outputs[0]);
    pgy_tensor *t = quantized_constant(p, n->outputs[0]);
    if (!t || !type) {
        pgy_tensor_release(t);
        return false;
    }
    pgy_value *v = pattern_weight(p, n->graph, n->outputs[0]->name, type, pgy_tensor_rank(t),
                                  pgy_tensor_shape(t), op_f64(t));
    pgy_tensor_release(t);
    if (!v) return false;
    if (!p->status) p->status = value_replace_uses(n->outputs[0], v, p->err);
    pattern_drop(p, n);
    return true;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse_conv, fuse_matmul, fuse_gemm,
                                         add_more,  add_relu,    NULL};
    static const pattern_rule FOLD[] = {fold_weight, NULL};
    size_t folded = 0;
    pgy_status st = pattern_run(g, "fuse_dequantized", RULES, changes, err);
    if (!st) st = pattern_run(g, "fuse_dequantized", FOLD, &folded, err);
    *changes += folded;
    return st;
}

const pass PASS_fuse_dequantized = {
    .name = "fuse_dequantized", .summary = "sums of bytes that stay floats", .run = run};

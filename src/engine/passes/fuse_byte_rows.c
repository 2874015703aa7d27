/* SPDX-License-Identifier: Apache-2.0 */
/* For CUDA devices: Softmax and LayerNormalization between DequantizeLinear and QuantizeLinear
 * become one step on bytes, a layer normalisation with the QLinearAdd before it. Three steps would
 * write and read floats, four times as many bytes. */
#include "engine/passes/pass.h"
#include "engine/passes/pattern_quantized.h"

enum { WORD = 4, MOST_LENGTH = 2048, SOFTMAX_OPSET = 13 }; /* those of the kernels */
enum { A = 0, B = 3, SUM_SCALE = 6, SUM_ZERO, SUM_INPUTS };
enum { GAIN = 3, BIAS, Y_SCALE, R = 7, R_SUM_SCALE = 10, NORM_INPUTS = 12 };

static bool fuse_softmax(pattern *p, pgy_node *n)
{
    quantized end, x;
    pgy_value *inputs[5];
    if (!quantized_read_end(p, n, &end)) return false;
    pgy_node *softmax = pattern_inner(end.x, "Softmax");
    if (!softmax || !quantized_read(p, softmax->inputs[0], &x) || x.type != end.type) return false;
    if (node_prepare(softmax, NULL) || node_box_of(softmax)->opset < SOFTMAX_OPSET) return false;
    quantized_put(p, n->graph, inputs, &x);
    inputs[3] = end.scale;
    inputs[4] = quantized_zero(p, n->graph, &end);
    pgy_node *made = pattern_put(p, n, "com.microsoft:QLinearSoftmax", inputs, 5);
    pattern_set_int(p, made, "opset", SOFTMAX_OPSET);
    pattern_copy(p, made, softmax, "axis");
    return true;
}

/* The QLinearAdd whose result is x, if it adds tensors of the same shape and nothing else reads the
 * sum; or NULL. */
static const pgy_node *sum_of(pattern *p, const quantized *x)
{
    const pgy_node *add = pattern_inner(x->x, "com.microsoft:QLinearAdd");
    if (!add || add->input_count != SUM_INPUTS) return NULL;
    for (size_t i = 0; i < SUM_INPUTS; i++)
        if (!add->inputs[i] || (i % B && !pattern_is_constant(p, add->inputs[i]))) return NULL;
    double scale;
    const bool same = pattern_scalar(p, add->inputs[SUM_SCALE], &scale) && scale == x->one_scale &&
                      x->zero == add->inputs[SUM_ZERO];
    for (size_t i = A; i <= B; i += B)
        if (!pattern_same_shape(add->inputs[i], x->x) || pattern_dtype(add->inputs[i]) != x->type)
            return NULL;
    return same ? add : NULL;
}

/* Is v a float32 number for each place of the last axis of x? */
static bool is_row(const pgy_value *v, const pgy_value *x)
{
    return v && pattern_dtype(v) == PGY_F32 && pattern_rank(v) == 1 &&
           pattern_same_size(v, 0, x, -1);
}

static bool suits(const pgy_node *n)
{
    const pgy_value *x = n->inputs[0];
    const int64_t axis = pattern_int(n, "axis", -1), length = pattern_size(x, -1);
    return (axis == -1 || axis == pattern_rank(x) - 1) && length > 0 && length % WORD == 0 &&
           length <= MOST_LENGTH && is_row(n->inputs[1], x) &&
           (!pattern_input(n, 2) || is_row(n->inputs[2], x));
}

static bool fuse_norm(pattern *p, pgy_node *n)
{
    quantized end, x;
    pgy_value *inputs[NORM_INPUTS] = {NULL};
    if (!quantized_read_end(p, n, &end)) return false;
    const pgy_node *norm = pattern_inner(end.x, "LayerNormalization");
    if (!norm || norm->input_count < 2 || !quantized_read(p, norm->inputs[0], &x) || !suits(norm))
        return false;
    for (size_t i = 1; i < norm->output_count; i++)
        if (norm->outputs[i]) return false;
    const pgy_node *sum = sum_of(p, &x);
    quantized_put(p, n->graph, inputs, &x);
    for (size_t i = 0; sum && i < B; i++) {
        inputs[i] = sum->inputs[A + i];
        inputs[R + i] = sum->inputs[B + i];
    }
    for (size_t i = 0; sum && i < 2; i++) inputs[R_SUM_SCALE + i] = sum->inputs[SUM_SCALE + i];
    inputs[GAIN] = norm->inputs[1];
    inputs[BIAS] = pattern_input(norm, 2);
    inputs[Y_SCALE] = end.scale;
    inputs[Y_SCALE + 1] = quantized_zero(p, n->graph, &end);
    pgy_node *made = pattern_put(p, n, "pgy:QLinearLayerNormalization", inputs, NORM_INPUTS);
    pattern_copy(p, made, norm, "epsilon");
    return true;
}

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse_softmax, fuse_norm, NULL};
    return pass_is_for_cuda(target) ? pattern_run(g, "fuse_byte_rows", RULES, changes, err)
                                    : PGY_OK;
}

const pass PASS_fuse_byte_rows = {.name = "fuse_byte_rows",
                                  .summary =
                                      "softmax and layer normalisation of bytes, for CUDA devices",
                                  .run_for = run};

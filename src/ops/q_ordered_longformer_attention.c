/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QOrderedLongformerAttention: row-major int8 times column-major int8, requantised to
 * the scales of the projections (biases are in their units), then LongformerAttention in float16.
 */
#include "base/alloc.h"
#include "ops/class_longformer.h"
#include "ops/class_ordered.h"
#include "tensor/convert.h"

enum {
    X,
    X_SCALE,
    WEIGHT,
    WEIGHT_SCALE,
    BIAS,
    BIAS_SCALE,
    QKV_SCALE,
    MASK,
    GLOBAL_WEIGHT,
    GLOBAL_WEIGHT_SCALE,
    GLOBAL_BIAS,
    GLOBAL_QKV_SCALE,
    FLAGS,
    Y_SCALE
};

static const op_attr_def ATTRS[] = {
    {"num_heads", OP_ATTR_INT, true, NULL, .range = "1.."},
    ORDERED_ATTR("order_global_weight", true),
    ORDERED_ATTR("order_input", true),
    ORDERED_ATTR("order_output", true),
    ORDERED_ATTR("order_weight", true),
    {"window", OP_ATTR_INT, true, NULL, .range = "1..1073741824"},
    {NULL},
};

static const ordered_rule ORDERS[] = {{"order_input", ORDERED_ROW},
                                      {"order_weight", ORDERED_COL},
                                      {"order_global_weight", ORDERED_COL},
                                      {"order_output", ORDERED_ROW}};

static const longformer_inputs INPUTS = {.x = X,
                                         .weight = WEIGHT,
                                         .bias = BIAS,
                                         .mask = MASK,
                                         .global_weight = GLOBAL_WEIGHT,
                                         .global_bias = GLOBAL_BIAS,
                                         .flags = FLAGS};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const pgy_status st = ordered_check(c->node, ORDERS, sizeof ORDERS / sizeof *ORDERS, err);
    return st ? st : longformer_infer(c, &INPUTS, err);
}

typedef struct scales {
    const op_eval *c;
    double x, weight[2], qkv[2], y; /* [1]: of global attention */
} scales;

static void project(double *to, size_t row, bool global, const void *user)
{
    const scales *s = user;
    const op_eval *c = s->c;
    const size_t width = (size_t)in_shape(c, X)[2];
    const int64_t *x = in_i64(c, X) + row * width;
    const int64_t *w = in_i64(c, global ? GLOBAL_WEIGHT : WEIGHT);
    const double *bias = in_f64(c, global ? GLOBAL_BIAS : BIAS);
    for (size_t j = 0; j < 3 * width; j++) {
        int64_t sum = 0;
        for (size_t k = 0; k < width; k++) sum += x[k] * w[j * width + k];
        const double y = (double)sum * s->x * s->weight[global] / s->qkv[global] + bias[j];
        to[j] = float_round(PGY_F16, (double)ordered_byte(y) * s->qkv[global], false);
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    scales s = {.c = c};
    double *y = NULL;
    pgy_status st = inputs_check(c, "IFIFFFFFIFFFIF", err);
    if (!st) st = ordered_scale(&s.x, c, X_SCALE, err);
    if (!st) st = ordered_scale(&s.weight[0], c, WEIGHT_SCALE, err);
    if (!st) st = ordered_scale(&s.weight[1], c, GLOBAL_WEIGHT_SCALE, err);
    if (!st) st = ordered_scale(&s.qkv[0], c, QKV_SCALE, err);
    if (!st) st = ordered_scale(&s.qkv[1], c, GLOBAL_QKV_SCALE, err);
    if (!st) st = ordered_scale(&s.y, c, Y_SCALE, err);
    if (!st) st = workspace_alloc((void **)&y, c, out_count(c, 0), sizeof *y, err);
    if (!st) st = longformer_run(y, c, &INPUTS, project, &s, err);
    for (size_t i = 0; !st && i < out_count(c, 0); i++)
        out_i64(c, 0)[i] = ordered_byte(float_round(PGY_F16, y[i], false) / s.y);
    mem_free(y);
    return st;
}

const op_def OP_q_ordered_longformer_attention[] = {
    {"QOrderedLongformerAttention", "com.microsoft", 1, 0, 14, 14, 1, 1, 0, ATTRS, "int8", infer,
     eval, NULL,
     .signature =
         "Q = int8; S = float32; G = int32; F = float16; input:Q, scale_input:S, weight:Q, "
         "scale_weight:S, bias:S, scale_bias:S, scale_qkv_gemm:S, mask:F, "
         "global_weight:Q, scale_global_weight:S, global_bias:S, scale_global_gemm:S, "
         "global:G, scale_output:S -> output:Q"},
    {NULL},
};

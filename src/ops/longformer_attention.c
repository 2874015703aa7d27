/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft LongformerAttention. */
#include <string.h>

#include "ops/class_longformer.h"

static const op_attr_def ATTRS[] = {
    {"num_heads", OP_ATTR_INT, true, NULL, .range = "1.."},
    {"window", OP_ATTR_INT, true, NULL, .range = "1..1073741824"},
    {NULL},
};

static const longformer_inputs INPUTS = {
    .x = 0, .weight = 1, .bias = 2, .mask = 3, .global_weight = 4, .global_bias = 5, .flags = 6};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    return longformer_infer(c, &INPUTS, err);
}

static void project(double *to, size_t row, bool global, const void *user)
{
    const op_eval *c = user;
    const size_t width = (size_t)in_shape(c, INPUTS.x)[2], columns = 3 * width;
    const double *x = in_f64(c, INPUTS.x) + row * width;
    const double *w = in_f64(c, global ? INPUTS.global_weight : INPUTS.weight);
    memcpy(to, in_f64(c, global ? INPUTS.global_bias : INPUTS.bias), columns * sizeof *to);
    for (size_t k = 0; k < width; k++)
        for (size_t j = 0; j < columns; j++) to[j] += x[k] * w[k * columns + j];
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "FFFFFFI", err);
    return st ? st : longformer_run(out_f64(c, 0), c, &INPUTS, project, c, err);
}

const op_def OP_longformer_attention[] = {
    {"LongformerAttention", "com.microsoft", 1, 0, 7, 7, 1, 1, 0, ATTRS, "float16 float32", infer,
     eval, NULL,
     .signature = "T = float16 float32; G = int32; input:T, weight:T, bias:T, mask:T, "
                  "global_weight:T, global_bias:T, global:G -> output:T"},
    {NULL},
};

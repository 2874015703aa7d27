/* SPDX-License-Identifier: Apache-2.0 */
/* DynamicQuantizeLinear: uint8 values with the scale and zero point that cover the input's range,
 * zero included. */
#include "ops/class_quantize.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    dim *scalar = op_dims(c, 1);
    if (!scalar) return rule_no_memory(c->node, err);
    op_set_like(c, 0, 0);
    c->outputs[0].dtype = PGY_U8;
    op_set_output(c, 1, PGY_F32, 0, scalar);
    op_set_output(c, 2, PGY_U8, 0, scalar);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *out[3];
    pgy_status st = rule_input(c, 0, &x, err);
    for (size_t i = 0; i < 3 && !st; i++) st = rule_output(c, i, &out[i], err);
    if (st) return st;
    const double *from = pgy_tensor_data(x);
    double low = 0, high = 0;
    int64_t zero;
    quantize_extend(&low, &high, from, pgy_tensor_count(x));
    const double scale = quantize_dynamic_scale(&zero, low, high);
    *(double *)pgy_tensor_data(out[1]) = scale;
    *(int64_t *)pgy_tensor_data(out[2]) = zero;
    int64_t *to = pgy_tensor_data(out[0]);
    for (size_t i = 0; i < pgy_tensor_count(x); i++)
        to[i] = quantize_dynamic_int(from[i], scale, zero);
    return PGY_OK;
}

const op_def OP_dynamic_quantize_linear[] = {
    {.name = "DynamicQuantizeLinear",
     .domain = "",
     .since = 11,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 3,
     .max_outputs = 3,
     .types = "float32",
     .infer = infer,
     .eval = eval},
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft BiasAdd: x + bias + skip, the bias along the last axis. */
#include "ops/class_bias_gelu.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    pgy_status st = bias_gelu_infer(c, err);
    if (!st && x->rank >= 0) st = rank_check(c, 2, x->rank, x->rank, err);
    for (int32_t d = 0; !st && d < x->rank; d++)
        st = dim_check(c, 2, (size_t)d, x->dims[d], "the same dimension of the input", err);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "FFF", err);
    if (st) return st;
    const double *x = in_f64(c, 0), *bias = in_f64(c, 1), *skip = in_f64(c, 2);
    const size_t width = in_count(c, 1);
    for (size_t i = 0; i < in_count(c, 0); i++) out_f64(c, 0)[i] = x[i] + bias[i % width] + skip[i];
    return PGY_OK;
}

const op_def OP_bias_add[] = {
    {"BiasAdd", "com.microsoft", 1, 0, 3, 3, 1, 1, OP_SAME_TYPES, NULL, TYPES_F4, infer, eval, NULL,
     .signature = "T = float16 float32 float64 bfloat16; X:T, bias:T, skip:T -> Y:T"},
    {NULL},
};

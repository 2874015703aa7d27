/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft GemmFastGelu: FastGelu of the product of two matrices and a bias along the last
 * axis. */
#include "ops/class_activation.h"
#include "ops/class_matmul.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_status st = matmul_infer(c, 0, 1, c->inputs[0].dtype, err);
    const op_value *y = &c->outputs[0];
    if (!st) st = rank_check(c, 2, 1, 1, err);
    if (!st && y->rank > 0) st = dim_check(c, 2, 0, y->dims[y->rank - 1], "the last axis", err);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    matmul_plan p;
    pgy_status st = inputs_check(c, "FFf", err);
    if (st) return st;
    const double *bias = in_f64(c, 2);
    const size_t rank = out_rank(c, 0), width = rank ? (size_t)out_shape(c, 0)[rank - 1] : 1;
    double *y = out_f64(c, 0);
    if (bias && in_count(c, 2) != width)
        return op_error(c->node, err, PGY_E_SHAPE, "the bias has %zu elements, but %zu are needed",
                        in_count(c, 2), width);
    matmul_prepare(&p, c, 0, 1);
    st = matmul_run_f64(&p, in_f64(c, 0), in_f64(c, 1), y, err);
    for (size_t i = 0; !st && i < out_count(c, 0); i++)
        y[i] = activation_gelu_tanh(y[i] + (bias ? bias[i % width] : 0));
    return st;
}

static double flops(const op_infer *c)
{
    return matmul_flops(c, 0);
}

const op_def OP_gemm_fast_gelu[] = {
    {"GemmFastGelu", "com.microsoft", 1, 0, 2, 3, 1, 1, OP_SAME_TYPES, NULL, TYPES_F4, infer, eval,
     flops, .signature = "T = float16 float32 float64 bfloat16; X:T, W:T, ?bias:T -> Y:T"},
    {NULL},
};

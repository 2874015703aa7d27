/* SPDX-License-Identifier: Apache-2.0 */
/* pgy FusedMatMul, which the engine's passes make: activation(alpha * A' * B' + bias + residual).
 * transA and transB exchange the last two axes; the bias has one number per column; the residual
 * has the output's shape. */
#include "ops/class_activation.h"

enum { A, B, BIAS, RESIDUAL };

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, NULL, "Relu Gelu FastGelu Silu Sigmoid Tanh"},
    {"alpha", OP_ATTR_FLOAT, false, "1"},
    {"transA", OP_ATTR_INT, false, "0"},
    {"transB", OP_ATTR_INT, false, "0"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *y = &c->outputs[0];
    pgy_status st = op_find("com.microsoft", "FusedMatMul", 1)->infer(c, err);
    if (!st && op_has_input(c, BIAS)) st = rank_check(c, BIAS, 1, 1, err);
    if (!st && op_has_input(c, BIAS)) st = rank_check(c, B, 2, PGY_MAX_RANK, err);
    if (st || y->rank < 0) return st;
    if (op_has_input(c, BIAS))
        st = dim_check(c, BIAS, 0, y->dims[y->rank - 1], "the number of columns", err);
    if (st || !op_has_input(c, RESIDUAL)) return st;
    st = rank_check(c, RESIDUAL, y->rank, y->rank, err);
    for (int32_t d = 0; !st && d < y->rank; d++)
        st = dim_check(c, RESIDUAL, d, y->dims[d], "the same dimension of the output", err);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    activation a;
    pgy_status st = inputs_check(c, "FFff", err);
    if (!st) st = activation_read_pgy(&a, c->node, err);
    if (!st) st = op_find("com.microsoft", "FusedMatMul", 1)->eval(c, err);
    if (st) return st;
    const double *bias = in_f64(c, BIAS), *residual = in_f64(c, RESIDUAL);
    const size_t count = out_count(c, 0), columns = bias ? in_count(c, BIAS) : 1;
    double *y = out_f64(c, 0);
    for (size_t i = 0; bias && i < count; i += columns)
        for (size_t j = 0; j < columns; j++) y[i + j] += bias[j];
    for (size_t i = 0; residual && i < count; i++) y[i] += residual[i];
    activation_apply(&a, y, count);
    return PGY_OK;
}

const op_def OP_pgy_fused_mat_mul[] = {
    {"FusedMatMul", "pgy", 1, 0, 2, 4, 1, 1, OP_SAME_TYPES, ATTRS, TYPES_F4, infer, eval, NULL,
     .signature = "T = float16 float32 float64 bfloat16; A:T, B:T, ?bias:T, ?residual:T -> Y:T"},
    {NULL},
};

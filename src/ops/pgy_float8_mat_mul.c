/* SPDX-License-Identifier: Apache-2.0 */
/* pgy Float8MatMul, which the engine's passes make: activation(alpha * A B' + bias + residual) for
 * matrices of float8, where alpha is the product of their scales. The result has the type
 * output_dtype; if that is float8, too, it is divided by y_scale before. */
#include "ops/class_activation.h"
#include "ops/class_quantize.h"
#include "tensor/convert.h"

enum { A, B, BIAS, RESIDUAL };

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, NULL, "Relu Gelu FastGelu Silu Sigmoid Tanh"},
    {"alpha", OP_ATTR_FLOAT, false, "1"},
    {"output_dtype", OP_ATTR_INT, true, NULL},
    {"transA", OP_ATTR_INT, false, "0"},
    {"transB", OP_ATTR_INT, false, "0"},
    {"y_scale", OP_ATTR_FLOAT, false, "1"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_dtype to;
    const op_value *y = &c->outputs[0];
    pgy_status st = quantize_type(&to, c->node, "output_dtype", err);
    if (!st && !pgy_dtype_is_float(to))
        st = op_error(c->node, err, PGY_E_TYPE, "output_dtype is no type of floats");
    if (!st) st = op_find("com.microsoft", "FusedMatMul", 1)->infer(c, err);
    if (!st && op_has_input(c, BIAS)) st = rank_check(c, BIAS, 1, 1, err);
    if (!st && op_has_input(c, BIAS)) st = rank_check(c, B, 2, PGY_MAX_RANK, err);
    if (!st) c->outputs[0].dtype = to;
    if (st || y->rank < 0) return st;
    if (op_has_input(c, BIAS))
        st = dim_check(c, BIAS, 0, y->dims[y->rank - 1], "the number of columns", err);
    if (st || !op_has_input(c, RESIDUAL)) return st;
    st = rank_check(c, RESIDUAL, y->rank, y->rank, err);
    for (int32_t d = 0; !st && d < y->rank; d++)
        st = dim_check(c, RESIDUAL, (size_t)d, y->dims[d], "the same dimension of the output", err);
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
    const double scale = (double)op_attr_float(c->node, "y_scale", 1);
    const size_t count = out_count(c, 0), columns = bias ? in_count(c, BIAS) : 1;
    double *y = out_f64(c, 0);
    for (size_t i = 0; bias && i < count; i += columns)
        for (size_t j = 0; j < columns; j++) y[i + j] += bias[j];
    for (size_t i = 0; residual && i < count; i++) y[i] += residual[i];
    activation_apply(&a, y, count);
    if (pgy_dtype_describe(c->outputs[0].dtype)->bits > 8) return PGY_OK;
    for (size_t i = 0; i < count; i++) y[i] = float_round(c->outputs[0].dtype, y[i] / scale, true);
    return PGY_OK;
}

const op_def OP_pgy_float8_mat_mul[] = {
    {"Float8MatMul", "pgy", 1, 0, 2, 4, 1, 1, 0, ATTRS, "float8e4m3fn float8e5m2", infer, eval,
     NULL,
     .signature =
         "T1 = float8e4m3fn float8e5m2; T2 = float16 float32 bfloat16; T3 = float16 float32 "
         "bfloat16 float8e4m3fn float8e5m2; A:T1, B:T1, ?bias:T2, ?residual:T2 -> Y:T3"},
    {NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* pgy Float8MatMul, which the engine's passes make: activation(alpha * A B' + bias + residual) for
 * matrices of float8, where alpha is the product of their scales. The result has the type
 * output_dtype; if that is float8, too, it is divided by y_scale before. */
#include "ops/class_check.h"
#include "ops/class_quantize.h"
#include "tensor/convert.h"

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, NULL, "Relu Gelu FastGelu Silu Sigmoid Tanh"},
    {"alpha", OP_ATTR_FLOAT, false, "1"},
    {"output_dtype", OP_ATTR_INT, true, NULL},
    {"transA", OP_ATTR_INT, false, "0"},
    {"transB", OP_ATTR_INT, false, "0"},
    {"y_scale", OP_ATTR_FLOAT, false, "1"},
    {NULL},
};

static const op_def *of_floats(void)
{
    return op_find("pgy", "FusedMatMul", 1);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_dtype to;
    pgy_status st = quantize_type(&to, c->node, "output_dtype", err);
    if (!st && !pgy_dtype_is_float(to))
        st = op_error(c->node, err, PGY_E_TYPE, "output_dtype is no type of floats");
    if (!st) st = of_floats()->infer(c, err);
    if (!st) c->outputs[0].dtype = to;
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = of_floats()->eval(c, err);
    if (st || pgy_dtype_describe(c->outputs[0].dtype)->bits > 8) return st;
    const double scale = (double)op_attr_float(c->node, "y_scale", 1);
    double *y = out_f64(c, 0);
    for (size_t i = 0; i < out_count(c, 0); i++)
        y[i] = float_round(c->outputs[0].dtype, y[i] / scale, true);
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

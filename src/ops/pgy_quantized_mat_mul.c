/* SPDX-License-Identifier: Apache-2.0 */
/* pgy QuantizedMatMul, which the engine's passes make: the exact product of byte matrices, scaled
 * to floats, plus a bias per column and a residual, and an activation. */
#include "ops/class_integer.h"
#include "ops/class_matmul.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, BIAS, RESIDUAL };

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, NULL, "Relu"},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_status st = matmul_infer(c, A, B, PGY_F32, err);
    const op_value *y = &c->outputs[0];
    if (!st && op_has_input(c, BIAS)) st = rank_check(c, BIAS, 1, 1, err);
    if (!st && op_has_input(c, BIAS)) st = rank_check(c, B, 2, PGY_MAX_RANK, err);
    if (st || y->rank < 0) return st;
    if (op_has_input(c, BIAS))
        st = dim_check(c, BIAS, 0, y->dims[y->rank - 1], "the number of columns", err);
    if (st || !op_has_input(c, RESIDUAL)) return st;
    st = rank_check(c, RESIDUAL, y->rank, y->rank, err);
    for (int32_t d = 0; !st && d < y->rank; d++)
        st = dim_check(c, RESIDUAL, (size_t)d, y->dims[d], "the same dimension of the output", err);
    return st;
}

static pgy_status finish(const op_eval *c, size_t columns, pgy_error *err)
{
    const size_t scales = in_count(c, B_SCALE), count = out_count(c, 0);
    const double *scale = in_f64(c, B_SCALE), *bias = in_f64(c, BIAS), *more = in_f64(c, RESIDUAL);
    const bool relu = op_attr_is(c->node, "activation", "Relu", "");
    double *y = out_f64(c, 0);
    if (in_count(c, A_SCALE) != 1 || (scales != 1 && scales != columns) ||
        (bias && in_count(c, BIAS) != columns) || (more && in_count(c, RESIDUAL) != count))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "there are %zu scales for %zu columns, or another input has the wrong "
                        "number of elements",
                        scales, columns);
    for (size_t i = 0; i < count; i++) {
        const size_t column = i % columns;
        y[i] *= in_f64(c, A_SCALE)[0] * scale[scales == 1 ? 0 : column];
        y[i] += (bias ? bias[column] : 0) + (more ? more[i] : 0);
        if (relu && y[i] < 0) y[i] = 0;
    }
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    matmul_plan p;
    double *a = NULL, *b = NULL;
    pgy_status st = inputs_check(c, "IFIIFIff", err);
    if (st || !out_count(c, 0)) return st;
    matmul_prepare(&p, c, A, B);
    st = integer_shifted(&a, c, A, A_ZERO, in_rank(c, A) > 1 ? in_rank(c, A) - 2 : 0, err);
    if (!st) st = integer_shifted(&b, c, B, B_ZERO, in_rank(c, B) - 1, err);
    if (!st) st = matmul_run_f64(&p, a, b, out_f64(c, 0), err);
    if (!st) st = finish(c, p.n, err);
    mem_free(a);
    mem_free(b);
    return st;
}

static double flops(const op_infer *c)
{
    return matmul_flops(c, A);
}

const op_def OP_pgy_quantized_mat_mul[] = {
    {"QuantizedMatMul", "pgy", 1, 0, 6, 8, 1, 1, 0, ATTRS, "int8 uint8", infer, eval, flops,
     .signature = "T1 = int8 uint8; T2 = int8 uint8; A:T1, a_scale:float32, a_zero_point:T1, "
                  "B:T2, b_scale:float32, b_zero_point:T2, ?bias:float32, ?residual:float32 -> "
                  "Y:float32"},
    {NULL},
};

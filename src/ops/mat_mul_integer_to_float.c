/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MatMulIntegerToFloat: (A - a_zero) * (B - b_zero) * a_scale * b_scale + bias. */
#include "ops/class_integer_matmul.h"

enum { A, B, A_SCALE, B_SCALE, A_ZERO, B_ZERO, BIAS };

static pgy_status infer(op_infer *c, pgy_error *err)
{
    return matmul_infer(c, A, B, c->inputs[A_SCALE].dtype ? c->inputs[A_SCALE].dtype : PGY_F32,
                        err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    double *a = NULL;
    pgy_status st = inputs_check(c, "IIFFiif", err);
    if (!st && in_count(c, A_SCALE) != 1)
        st = op_error(c->node, err, PGY_E_UNSUPPORTED,
                      "a_scale has %zu elements; only one is supported", in_count(c, A_SCALE));
    if (!st) st = integer_shifted(&a, c, A, A_ZERO, in_rank(c, A) > 1 ? in_rank(c, A) - 2 : 0, err);
    if (st) return st;
    const integer_matmul m = {a, in_f64(c, A_SCALE)[0], B, B_SCALE, B_ZERO, BIAS};
    st = integer_matmul_run(c, &m, err);
    mem_free(a);
    return st;
}

static double flops(const op_infer *c)
{
    return matmul_flops(c, A);
}

const op_def OP_mat_mul_integer_to_float[] = {
    {"MatMulIntegerToFloat", "com.microsoft", 1, 0, 4, 7, 1, 1, 0, NULL, "int8 uint8", infer, eval,
     flops,
     .signature = "T1 = int8 uint8; T2 = int8 uint8; T3 = float16 float32; A:T1, B:T2, "
                  "a_scale:T3, b_scale:T3, ?a_zero_point:T1, ?b_zero_point:T2, ?bias:T3 -> "
                  "Y:T3"},
    {NULL},
};

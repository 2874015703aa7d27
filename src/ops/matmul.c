/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul: floats in double precision, integers exactly modulo 2^64. */
#include "ops/class_matmul.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    return matmul_infer(c, 0, 1, c->inputs[0].dtype, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    matmul_plan p;
    pgy_status st = inputs_check(c, "!!", err);
    const bool narrow = !st && pgy_tensor_dtype(c->inputs[1].value) == PGY_F32;
    if (!st && !narrow) st = inputs_check(c, "!S", err);
    if (st) return st;
    matmul_prepare(&p, c, 0, 1);
    if (pgy_tensor_dtype(c->inputs[0].value) == PGY_F64)
        return matmul_run(&p, in_f64(c, 0), in_data(c, 1), narrow, out_f64(c, 0), err);
    matmul_run_u64(&p, in_data(c, 0), in_data(c, 1), out_data(c, 0));
    return PGY_OK;
}

static double flops(const op_infer *c)
{
    return matmul_flops(c, 0);
}

#define ROW(version, words)                                                                       \
    {                                                                                             \
        "MatMul", "", version, 0, 2, 2, 1, 1, OP_SAME_TYPES | OP_FILLS, NULL, words, infer, eval, \
            flops, .narrow_inputs = 1 << 1                                                        \
    }
const op_def OP_matmul[] = {ROW(1, TYPES_F3), ROW(9, TYPES_W3), ROW(13, TYPES_W4), {NULL}};

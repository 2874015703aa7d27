/* SPDX-License-Identifier: Apache-2.0 */
/* MatMulInteger: 8-bit matrices minus zero points (of a: per row, of b: per column), int32 result.
 */
#include "ops/class_integer.h"
#include "ops/class_matmul.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    return matmul_infer(c, 0, 1, PGY_I32, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    matmul_plan p;
    double *a = NULL, *b = NULL, *y = NULL;
    pgy_status st = inputs_check(c, "IIii", err);
    if (st) return st;
    matmul_prepare(&p, c, 0, 1);
    st = integer_shifted(&a, c, 0, 2, in_rank(c, 0) > 1 ? in_rank(c, 0) - 2 : 0, err);
    if (!st) st = integer_shifted(&b, c, 1, 3, in_rank(c, 1) - 1, err);
    if (!st) st = workspace_alloc((void **)&y, c, out_count(c, 0), sizeof *y, err);
    if (!st) st = matmul_run_f64(&p, a, b, y, err);
    if (!st) integer_store(out_i64(c, 0), y, out_count(c, 0));
    mem_free(a);
    mem_free(b);
    mem_free(y);
    return st;
}

static double flops(const op_infer *c)
{
    return matmul_flops(c, 0);
}

const op_def OP_matmul_integer[] = {
    {"MatMulInteger", "", 10, 0, 2, 4, 1, 1, 0, NULL, "int8 uint8", infer, eval, flops},
    {NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* QLinearMatMul: an exact integer product, then y = saturate(round(acc * a_scale * b_scale /
 * y_scale) + y_zero_point). Scales and zero points are scalars, or per row of a and y and per
 * column of b. */
#include "ops/class_integer.h"
#include "ops/class_matmul.h"
#include "tensor/convert.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO };

static pgy_status infer(op_infer *c, pgy_error *err)
{
    return matmul_infer(c, A, B, c->inputs[Y_ZERO].dtype, err);
}

static size_t pick(const op_eval *c, size_t input, size_t i)
{
    return in_count(c, input) == 1 ? 0 : i;
}

static pgy_status check_scales(const op_eval *c, size_t rows, size_t columns, pgy_error *err)
{
    const struct {
        size_t input, count;
    } WANTED[] = {{A_SCALE, rows}, {B_SCALE, columns}, {Y_SCALE, rows}, {Y_ZERO, rows}};
    for (size_t i = 0; i < sizeof WANTED / sizeof *WANTED; i++) {
        size_t have = in_count(c, WANTED[i].input);
        if (have != 1 && have != WANTED[i].count)
            return op_error(c->node, err, PGY_E_SHAPE,
                            "input %zu has %zu elements, but must have 1 or %zu", WANTED[i].input,
                            have, WANTED[i].count);
    }
    return PGY_OK;
}

static void store(const op_eval *c, const double *acc, size_t rows, size_t columns)
{
    pgy_dtype dtype = c->outputs[0].dtype;
    size_t count = out_count(c, 0);
    for (size_t i = 0; i < count; i++) {
        size_t row = i / columns % rows, column = i % columns;
        double scale = in_f64(c, A_SCALE)[pick(c, A_SCALE, row)] *
                       in_f64(c, B_SCALE)[pick(c, B_SCALE, column)] /
                       in_f64(c, Y_SCALE)[pick(c, Y_SCALE, row)];
        if (pgy_dtype_is_float(dtype)) {
            out_f64(c, 0)[i] =
                float_round(dtype, acc[i] * scale + in_f64(c, Y_ZERO)[pick(c, Y_ZERO, row)], true);
            continue;
        }
        out_i64(c, 0)[i] =
            integer_quantize(acc[i] * scale, in_i64(c, Y_ZERO)[pick(c, Y_ZERO, row)], dtype);
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    matmul_plan p;
    double *a = NULL, *b = NULL, *y = NULL;
    pgy_status st = inputs_check(c, "!FSSFSFS", err);
    if (st) return st;
    matmul_prepare(&p, c, A, B);
    size_t a_rank = in_rank(c, A), rows = a_rank > 1 ? (size_t)in_shape(c, A)[a_rank - 2] : 1;
    st = check_scales(c, rows, p.n, err);
    if (!st) st = integer_shifted(&a, c, A, A_ZERO, a_rank > 1 ? a_rank - 2 : 0, err);
    if (!st) st = integer_shifted(&b, c, B, B_ZERO, in_rank(c, B) - 1, err);
    if (!st) st = workspace_alloc((void **)&y, c, out_count(c, 0), sizeof *y, err);
    if (!st) st = matmul_run_f64(&p, a, b, y, err);
    if (!st) store(c, y, rows, p.n);
    mem_free(a);
    mem_free(b);
    mem_free(y);
    return st;
}

static double flops(const op_infer *c)
{
    return matmul_flops(c, A);
}

#define ROW(version, words)                                                             \
    {                                                                                   \
        "QLinearMatMul", "", version, 0, 8, 8, 1, 1, 0, NULL, words, infer, eval, flops \
    }
const op_def OP_qlinear_matmul[] = {
    ROW(10, "int8 uint8"),
    ROW(21, "int8 uint8 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz"),
    {NULL},
};

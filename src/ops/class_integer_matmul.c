/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product of 8-bit integers, computed in doubles, which is exact. b has one scale, or one
 * per column. */
#include "ops/class_integer_matmul.h"

pgy_status integer_matmul_run(op_eval *c, const integer_matmul *m, pgy_error *err)
{
    matmul_plan p;
    double *b = NULL, *y = out_f64(c, 0);
    const double *scale = in_f64(c, m->b_scale), *bias = in_f64(c, m->bias);
    const size_t scales = in_count(c, m->b_scale);
    matmul_prepare(&p, c, 0, m->b);
    if (!out_count(c, 0)) return PGY_OK;
    if ((scales != 1 && scales != p.n) || (bias && in_count(c, m->bias) != p.n))
        return op_error(
            c->node, err, PGY_E_SHAPE,
            "the scale or the bias does not have one element for each of the %zu columns", p.n);
    pgy_status st = integer_shifted(&b, c, m->b, m->b_zero, in_rank(c, m->b) - 1, err);
    if (!st) st = matmul_run_f64(&p, m->a, b, y, err);
    for (size_t i = 0; !st && i < out_count(c, 0); i++) {
        const size_t column = i % p.n;
        y[i] = y[i] * (m->a_scale * scale[scales == 1 ? 0 : column]) + (bias ? bias[column] : 0);
    }
    mem_free(b);
    return st;
}

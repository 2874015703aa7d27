/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft Inverse of each matrix in the last two axes, by elimination with row exchanges.
 * Singular matrices give infinities and NaN. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_check.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    pgy_status st = rank_check(c, 0, 2, PGY_MAX_RANK, err);
    if (!st && x->rank >= 2)
        st = dim_check(c, 0, (size_t)x->rank - 1, x->dims[x->rank - 2], "the number of rows", err);
    op_set_like(c, 0, 0);
    return st;
}

static void exchange(double *a, double *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}

/* Turns x into the unit matrix and y, which holds the unit matrix, into the inverse of x. */
static void invert(double *x, double *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i * n + i] = 1;
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t r = k + 1; r < n; r++)
            if (fabs(x[r * n + k]) > fabs(x[pivot * n + k])) pivot = r;
        if (pivot != k) {
            exchange(x + k * n, x + pivot * n, n);
            exchange(y + k * n, y + pivot * n, n);
        }
        const double factor = 1 / x[k * n + k];
        for (size_t i = 0; i < n; i++) {
            x[k * n + i] *= factor;
            y[k * n + i] *= factor;
        }
        for (size_t r = 0; r < n; r++) {
            const double times = x[r * n + k];
            for (size_t i = 0; r != k && i < n; i++) {
                x[r * n + i] -= times * x[k * n + i];
                y[r * n + i] -= times * y[k * n + i];
            }
        }
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    double *x = NULL;
    pgy_status st = inputs_check(c, "F", err);
    if (st || !in_count(c, 0)) return st;
    const size_t n = (size_t)in_shape(c, 0)[in_rank(c, 0) - 1];
    st = workspace_alloc((void **)&x, c, in_count(c, 0), sizeof *x, err);
    if (st) return st;
    memcpy(x, in_f64(c, 0), in_count(c, 0) * sizeof *x);
    for (size_t i = 0; i < in_count(c, 0); i += n * n) invert(x + i, out_f64(c, 0) + i, n);
    mem_free(x);
    return PGY_OK;
}

const op_def OP_inverse[] = {
    {"Inverse", "com.microsoft", 1, 0, 1, 1, 1, 1, 0, NULL, TYPES_F4, infer, eval, NULL,
     .signature = "T = float16 float32 float64 bfloat16; X:T -> Y:T"},
    {NULL},
};

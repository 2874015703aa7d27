/* SPDX-License-Identifier: Apache-2.0 */
/* Det: determinants of square matrices by elimination with partial pivoting. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_check.h"
#include "ops/class_rows.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, -1, "the input's shape is not known");
        return PGY_OK;
    }
    pgy_status st = rank_check(c, 0, 2, PGY_MAX_RANK, err);
    if (!st)
        st = dim_check(c, 0, (size_t)x->rank - 1, x->dims[x->rank - 2], "the dimension before it",
                       err);
    if (st) return st;
    op_set_output(c, 0, x->dtype, x->rank - 2, x->dims);
    return PGY_OK;
}

/* The determinant of the n x n matrix a, which is overwritten. */
static double determinant(double *a, size_t n)
{
    double det = 1;
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k])) pivot = i;
        if (a[pivot * n + k] == 0) return 0;
        for (size_t j = 0; pivot != k && j < n; j++) {
            double v = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = v;
        }
        det *= pivot == k ? a[k * n + k] : -a[k * n + k];
        for (size_t i = k + 1; i < n; i++) {
            double f = a[i * n + k] / a[k * n + k];
            for (size_t j = k + 1; j < n; j++) a[i * n + j] -= f * a[k * n + j];
        }
    }
    return det;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    double *work = NULL;
    pgy_status st = inputs_check(c, "F", err);
    if (st) return st;
    axis_view v = axis_view_of(in_shape(c, 0), in_rank(c, 0), in_rank(c, 0) - 2, in_rank(c, 0) - 1);
    st = workspace_alloc((void **)&work, c, v.length * v.inner, sizeof *work, err);
    for (size_t i = 0; !st && i < v.outer; i++) {
        if (v.length)
            memcpy(work, in_f64(c, 0) + i * v.length * v.length,
                   v.length * v.length * sizeof *work);
        out_f64(c, 0)[i] = determinant(work, v.length);
    }
    mem_free(work);
    return st;
}

#define ROW(version, words)                                                  \
    {                                                                        \
        "Det", "", version, 0, 1, 1, 1, 1, 0, NULL, words, infer, eval, NULL \
    }
const op_def OP_det[] = {ROW(11, TYPES_F3), ROW(22, TYPES_F4), {NULL}};

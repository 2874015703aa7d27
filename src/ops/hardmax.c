/* SPDX-License-Identifier: Apache-2.0 */
/* Hardmax: one at the first largest value along an axis, zero elsewhere. See class_softmax.h. */
#include "ops/class_softmax.h"

#include <math.h>

static void row(double *y, const double *x, size_t n, size_t step, pgy_dtype type)
{
    (void)type;
    size_t best = 0;
    for (size_t i = 0; i < n; i++) {
        y[i * step] = 0;
        if (x[i * step] > x[best * step] || (isnan(x[i * step]) && !isnan(x[best * step])))
            best = i;
    }
    if (n) y[best * step] = 1;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    return softmax_run(c, row, err);
}

const op_def OP_hardmax[] = {SOFTMAX_ROWS("Hardmax", eval), {NULL}};

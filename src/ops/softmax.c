/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax: exp(x - max) / sum(exp(x - max)) along an axis. See class_softmax.h. */
#include "ops/class_softmax.h"

#include <math.h>

static void row(double *y, const double *x, size_t n, size_t step)
{
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++)
        top = x[i * step] > top || isnan(x[i * step]) ? x[i * step] : top;
    for (size_t i = 0; i < n; i++) {
        double e = exp(x[i * step] - top);
        y[i * step] = e;
        sum += e;
    }
    for (size_t i = 0; i < n; i++) y[i * step] /= sum;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    return softmax_run(c, row, err);
}

const op_def OP_softmax[] = {SOFTMAX_ROWS("Softmax", eval), {NULL}};

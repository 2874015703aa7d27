/* SPDX-License-Identifier: Apache-2.0 */
/* LogSoftmax: x - max - log(sum(exp(x - max))) along an axis. See class_softmax.h. */
#include "ops/class_softmax.h"

#include <math.h>

static void row(double *y, const double *x, size_t n, size_t step, pgy_dtype type)
{
    (void)type;
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++)
        top = x[i * step] > top || isnan(x[i * step]) ? x[i * step] : top;
    for (size_t i = 0; i < n; i++) sum += exp(x[i * step] - top);
    double shift = log(sum);
    for (size_t i = 0; i < n; i++) y[i * step] = x[i * step] - top - shift;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    return softmax_run(c, row, err);
}

const op_def OP_log_softmax[] = {SOFTMAX_ROWS("LogSoftmax", eval), {NULL}};

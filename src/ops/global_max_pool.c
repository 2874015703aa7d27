/* SPDX-License-Identifier: Apache-2.0 */
/* GlobalMaxPool: the largest value of every plane, NaN if the plane holds a NaN. */
#include <math.h>

#include "ops/class_pool.h"

static double largest(const op_eval *c, const double *x, size_t count)
{
    (void)c;
    double m = -INFINITY;
    for (size_t i = 0; i < count; i++) m = x[i] > m || isnan(x[i]) ? x[i] : m;
    return m;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    return pool_global_run(c, largest, err);
}

#define ROW(version, words)                                                                   \
    {                                                                                         \
        "GlobalMaxPool", "", version, 0, 1, 1, 1, 1, 0, NULL, words, pool_global_infer, eval, \
            pool_global_flops                                                                 \
    }
const op_def OP_global_max_pool[] = {ROW(1, TYPES_F3), ROW(22, TYPES_F4), {NULL}};

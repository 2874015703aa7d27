/* SPDX-License-Identifier: Apache-2.0 */
/* GlobalAveragePool: the mean of every plane. */
#include "ops/class_pool.h"
#include "ops/class_rows.h"

static double mean(const op_eval *c, const double *x, size_t count)
{
    (void)c;
    return row_sum(x, count) / (double)count;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    return pool_global_run(c, mean, err);
}

#define ROW(version, words)                                                                       \
    {                                                                                             \
        "GlobalAveragePool", "", version, 0, 1, 1, 1, 1, 0, NULL, words, pool_global_infer, eval, \
            pool_global_flops                                                                     \
    }
const op_def OP_global_average_pool[] = {ROW(1, TYPES_F3), ROW(22, TYPES_F4), {NULL}};

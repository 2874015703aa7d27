/* SPDX-License-Identifier: Apache-2.0 */
/* GlobalLpPool: (sum |x|^p)^(1/p) of every plane. */
#include <math.h>

#include "ops/class_pool.h"
#include "ops/class_rows.h"

static const op_attr_def ATTRS[] = {{"p", OP_ATTR_INT, false, "2", NULL, "1.."}, {NULL}};

static double norm(const op_eval *c, const double *x, size_t count)
{
    double p = (double)op_attr_int(c->node, "p", 2), sum = 0;
    if (p == 2) return sqrt(row_sum_squares(x, count, 0));
    for (size_t i = 0; i < count; i++) sum += pow(fabs(x[i]), p);
    return pow(sum, 1 / p);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    return pool_global_run(c, norm, err);
}

#define ROW(version, words)                                                                   \
    {                                                                                         \
        "GlobalLpPool", "", version, 0, 1, 1, 1, 1, 0, ATTRS, words, pool_global_infer, eval, \
            pool_global_flops                                                                 \
    }
const op_def OP_global_lp_pool[] = {ROW(2, TYPES_F3), ROW(22, TYPES_F4), {NULL}};

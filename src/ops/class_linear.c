/* SPDX-License-Identifier: Apache-2.0 */
/* Products of features and coefficients. */
#include "ops/class_linear.h"

#include <inttypes.h>

pgy_status linear_check(op_infer *c, int64_t targets, dim features, pgy_error *err)
{
    size_t count;
    op_attr_floats(c->node, "coefficients", &count);
    if (targets < 1 || (uint64_t)targets > count || count % (uint64_t)targets)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute coefficients has %zu numbers, which %" PRId64
                        " targets cannot share equally",
                        count, targets);
    const int64_t wanted = (int64_t)(count / (uint64_t)targets);
    if (!dim_differ(features, dim_const(wanted))) return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE,
                    "input 0 has rows of another length than the %" PRId64
                    " coefficients of each target",
                    wanted);
}

void linear_row(double *y, const double *x, size_t features, size_t targets,
                const float *coefficients, const float *intercepts)
{
    for (size_t t = 0; t < targets; t++) {
        double sum = 0;
        for (size_t i = 0; i < features; i++) sum += x[i] * (double)coefficients[t * features + i];
        y[t] = sum + (intercepts ? (double)intercepts[t] : 0);
    }
}

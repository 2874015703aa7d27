/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling: shape rules of windowed and global pools, and the distribution of output rows to
 * threads. */
#ifndef OPS_CLASS_POOL_H
#define OPS_CLASS_POOL_H

#include "ops/class_check.h"
#include "ops/class_window.h"

/* Every output gets the pooled shape; outputs after the first are int64. */
pgy_status pool_infer(op_infer *c, pgy_error *err) PGY_MUST_CHECK;
pgy_status pool_global_infer(op_infer *c, pgy_error *err) PGY_MUST_CHECK;
double pool_flops(const op_infer *c);
double pool_global_flops(const op_infer *c);

typedef struct pool_problem {
    window window;
    size_t planes;
    const op_eval *c;
    double p; /* of LpPool */
    bool count_padding;
    bool column_major; /* of indices */
    int64_t lowest;    /* of MaxPool on integers */
} pool_problem;

pgy_status pool_prepare(pool_problem *p, const op_eval *c, pgy_error *err) PGY_MUST_CHECK;
/* Computes output row `row` of plane `plane`. */
typedef void (*pool_row)(const pool_problem *p, size_t plane, size_t row);
void pool_run(const pool_problem *p, pool_row row);
/* Calls global(c, plane, x, count) for every plane of input 0; the result is stored in output 0. */
typedef double (*pool_plane)(const op_eval *c, const double *x, size_t count);
pgy_status pool_global_run(op_eval *c, pool_plane plane, pgy_error *err) PGY_MUST_CHECK;

#endif

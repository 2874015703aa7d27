/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling: shape rules of windowed and global pools, and the distribution of output rows to
 * threads. */
#ifndef OPS_CLASS_POOL_H
#define OPS_CLASS_POOL_H

#include "ops/class_check.h"
#include "ops/class_window.h"

/* Gives every output the pooled shape; outputs after the first (MaxPool's indices) are int64. */
pgy_status pool_infer(op_infer *c, pgy_error *err) PGY_MUST_CHECK;
pgy_status pool_global_infer(op_infer *c, pgy_error *err) PGY_MUST_CHECK;
double pool_flops(const op_infer *c);
double pool_global_flops(const op_infer *c);

typedef struct pool_problem {
    window window;
    size_t planes;
    const op_eval *c;
    double p; /* exponent of LpPool's norm */
    bool count_padding;
    bool column_major; /* order in which MaxPool's indices count (storage_order 1) */
    int64_t lowest;    /* start value of MaxPool on integers */
} pool_problem;

pgy_status pool_prepare(pool_problem *p, const op_eval *c, pgy_error *err) PGY_MUST_CHECK;
/* Computes output row `row` of plane `plane`. */
typedef void (*pool_row)(const pool_problem *p, size_t plane, size_t row);
void pool_run(const pool_problem *p, pool_row row);
/* Computes the result of one plane. pool_global_run calls it for every plane of input 0 and stores
 * the results in output 0. */
typedef double (*pool_plane)(const op_eval *c, const double *x, size_t count);
pgy_status pool_global_run(op_eval *c, pool_plane plane, pgy_error *err) PGY_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Mean and variance of rows, shared by the normalisation operators. */
#ifndef OPS_CLASS_NORM_H
#define OPS_CLASS_NORM_H

#include "ops/class_check.h"
#include "ops/class_rows.h"

typedef struct norm_stats {
    double mean, variance; /* population variance, from the centred values */
} norm_stats;
norm_stats norm_of(const double *x, size_t count);
double norm_flops(const op_infer *c); /* about eight operations per element */

/* Checks that input i, if present, can be broadcast to the last axes of input 0; unknown dims pass.
 * PGY_E_SHAPE */
pgy_status norm_check(const op_infer *c, size_t i, pgy_error *err) PGY_MUST_CHECK;
/* Computes the strides (0 on broadcast axes) of an input that broadcasts to the last axes of
 * `shape`. PGY_E_SHAPE if it does not. */
pgy_status norm_broadcast(size_t *strides, const op_eval *c, size_t input, const int64_t *shape,
                          size_t rank, pgy_error *err) PGY_MUST_CHECK;

#endif

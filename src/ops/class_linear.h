/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by LinearClassifier and LinearRegressor: rows of features times a matrix of coefficients,
 * one row of it per target. */
#ifndef OPS_CLASS_LINEAR_H
#define OPS_CLASS_LINEAR_H

#include "ops/class_scores.h"

/* Checks that the coefficients of `targets` targets fit the number of features, where it is known.
 * PGY_E_ARGUMENT */
pgy_status linear_check(op_infer *c, int64_t targets, dim features, pgy_error *err) PGY_MUST_CHECK;
/* y[t] = intercepts[t] + sum of x * coefficients[t]; without intercepts they are 0. */
void linear_row(double *y, const double *x, size_t features, size_t targets,
                const float *coefficients, const float *intercepts);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the elements of two arrays, from which metrics are computed. */
#ifndef COMPARE_METRIC_SUMS_H
#define COMPARE_METRIC_SUMS_H

#include "compare/arith.h"

typedef struct metric_sums {
    double dd, aa, bb, ab;   /* sums of (a-b)^2, a^2, b^2, a*b */
    double mean_dd, mean_aa; /* equal to dd and aa, except where the original's sums overflow and
                                its means do not */
    double high;             /* the largest element of a */
    bool nan;                /* a has a NaN */
} metric_sums;

bool metric_is_complex(const pgy_tensor *t);
/* Two narrow arrays of equal shape. Complex ones count as pairs of reals. `wrap` repeats the
 * original's overflow of integers. */
pgy_status metric_sums_take(metric_sums *out, const pgy_tensor *a, const pgy_tensor *b, bool wrap,
                            pgy_error *err) PGY_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Discrete Fourier transforms of any length, computed from shorter transforms by the prime factors
 * of the length. */
#ifndef OPS_CLASS_FOURIER_H
#define OPS_CLASS_FOURIER_H

#include "ops/class_check.h"

typedef struct fourier_plan {
    size_t length;
    double *table; /* for each k < length: cosine and sine of the angle 2 pi k / length */
} fourier_plan;

pgy_status fourier_init(fourier_plan *p, const op_eval *c, size_t length,
                        pgy_error *err) PGY_MUST_CHECK;
void fourier_deinit(fourier_plan *p);
/* y[k] = sum of x[n] * exp(-+ 2 pi j k n / N), on pairs of real and imaginary part. The inverse
 * leaves out the factor 1 / N. x and y must not overlap; work must hold N pairs. */
void fourier_run(const fourier_plan *p, double *y, const double *x, double *work, bool inverse);

#endif

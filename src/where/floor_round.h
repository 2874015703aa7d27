/* SPDX-License-Identifier: Apache-2.0 */
/* Random rounding errors of float64 arrays. */
#ifndef WHERE_FLOOR_ROUND_H
#define WHERE_FLOOR_ROUND_H

#include <polygraphy/tensor.h>

/* RMS of the relative error of rounding to nearest, in units of the unit roundoff, for mantissas of
 * logarithmic distribution: sqrt(3 / (8 ln 2) / 3). */
#define FLOOR_NEAREST_RMS 0.425

typedef struct floor_random {
    uint64_t state;
} floor_random;
floor_random floor_random_start(uint64_t seed, uint64_t draw, uint64_t step);

/* Half of the distance from 1 to the next value of the type. */
double floor_unit(pgy_dtype type);
/* Rounds each element to one of the two neighbours in `type`, with a probability by the distance;
 * values of the type stay. Overflow as in rounding to nearest. */
void floor_round_randomly(double *x, size_t count, pgy_dtype type, floor_random *r);
/* Multiplies each element by 1 + e, e uniform with this RMS. */
void floor_scale_randomly(double *x, size_t count, double rms, floor_random *r);
/* Adds an error with this RMS to each element, uniform. */
void floor_shift_randomly(double *x, double rms, size_t count, floor_random *r);
/* Adds an error to each element, uniform with the RMS of the element. */
void floor_add_randomly(double *x, const double *rms, size_t count, floor_random *r);

#endif

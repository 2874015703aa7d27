/* SPDX-License-Identifier: Apache-2.0 */
/* The axes of plots: which values they span, where a value lies, and ticks whose labels all differ.
 * Values are errors and magnitudes, so none is negative. */
#ifndef COMPARE_AXIS_H
#define COMPARE_AXIS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct axis {
    double low, high; /* low > 0 if logarithmic */
    bool logarithmic;
} axis;

#define AXIS_TICKS 32
typedef struct tick {
    double value, at; /* `at` from 0 (low) to 1 (high) */
    char label[32];
} tick;

/* From the least to the greatest finite value; of the positive ones if logarithmic. Where there is
 * none: 0 to 0, linear. */
axis axis_of(const double *values, size_t n, bool logarithmic);
/* The same with round ends. A linear axis begins at 0 unless all values are close together. */
axis axis_rounded(const double *values, size_t n, bool logarithmic);
/* 0 at the low end, 1 at the high end; 0 where both ends are equal. Clipped. */
double axis_place(const axis *a, double value);
/* Round values, at most `most` (2 to 16) intervals, fewer if the labels would have more than
 * `characters` together. Returns how many. */
size_t axis_ticks(tick out[AXIS_TICKS], const axis *a, size_t most, size_t characters);
/* Both ends and values at equal distances between them. */
size_t axis_even_ticks(tick out[AXIS_TICKS], const axis *a, size_t intervals);

#endif

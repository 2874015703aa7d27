/* SPDX-License-Identifier: Apache-2.0 */
/* Axes of plots: their range, the position of a value, and ticks whose labels all differ. Values
 * are errors and magnitudes, so none is negative. */
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

/* An axis from the smallest to the largest finite value (positive value if logarithmic). Without
 * such a value it is linear from 0 to 0. */
axis axis_of(const double *values, size_t n, bool logarithmic);
/* Like axis_of, but both ends are round numbers. A linear axis begins at 0 unless all values are
 * close together. */
axis axis_rounded(const double *values, size_t n, bool logarithmic);
/* 0 at the low end, 1 at the high end, clipped. 0 if both ends are equal. */
double axis_place(const axis *a, double value);
/* Ticks at round values, with at most `most` (2 to 16) intervals, and fewer if the labels would
 * exceed `characters` in total. Returns the number of ticks. */
size_t axis_ticks(tick out[AXIS_TICKS], const axis *a, size_t most, size_t characters);
/* Ticks at both ends and at equal distances between them. Returns the number of ticks. */
size_t axis_even_ticks(tick out[AXIS_TICKS], const axis *a, size_t intervals);

#endif

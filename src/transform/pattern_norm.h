/* SPDX-License-Identifier: Apache-2.0 */
/* Rows divided by the root of their mean square, written out: what the patterns of normalisations
 * have in common. */
#ifndef TRANSFORM_PATTERN_NORM_H
#define TRANSFORM_PATTERN_NORM_H

#include "transform/pattern.h"

typedef struct pattern_norm {
    pgy_value *x;   /* what is normalised */
    pgy_node *last; /* that gives the result */
    int32_t axis;   /* from which on, 0 ... rank - 1 */
    double epsilon;
    const pgy_node *user;     /* of x, in the quotient */
    pgy_value *gain, *offset; /* constants that were found in it; NULL: none */
    bool fast;                /* the variance is mean(x * x) - mean(x) * mean(x) */
    pgy_value *scale, *shift; /* of the shape of a row; NULL: none */
} pattern_norm;

/* Is n = x / sqrt(mean(x * x) + epsilon), over the last axes, or that times a constant? Scale and
 * shift are not set. */
bool pattern_norm_find(pattern_norm *out, pattern *p, pgy_node *n);
/* Is n = x * w + (shift - mean(x) * w), w being scale / sqrt(variance + epsilon)? Then it is
 * centred already. */
bool pattern_norm_find_apart(pattern_norm *out, pattern *p, pgy_node *n);
/* If x is x' - mean(x') over the same axes, and is used for nothing else, x becomes x'. */
bool pattern_norm_centre(pattern_norm *m, pattern *p);
/* If x was widened to float32 for it and the result is made narrow again, both are seen as they
 * were: the operators compute in float32. For standard operators only. */
void pattern_norm_narrow(pattern_norm *m, pattern *p);
/* Takes a multiplication by constants behind it, of the shape of a row, and then, if asked for, an
 * addition. Without the former, scale is made of ones. False: that is not possible. */
bool pattern_norm_affine(pattern_norm *m, pattern *p, bool shift);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises x / sqrt(mean(x * x) + epsilon), which LayerNormalization and RMSNormalization share.
 * A row is what the mean is taken over: the last axes of x. */
#ifndef TRANSFORM_PATTERN_NORM_H
#define TRANSFORM_PATTERN_NORM_H

#include "transform/pattern.h"

typedef struct pattern_norm {
    pgy_value *x;   /* the tensor that is normalised */
    pgy_node *last; /* the node that makes the result */
    int32_t axis;   /* first axis of a row, 0 ... rank - 1 */
    double epsilon;
    const pgy_node *user;     /* the node of the quotient that reads x */
    pgy_value *gain, *offset; /* constants found before or inside the division; NULL: none */
    bool fast;                /* the variance is mean(x * x) - mean(x) * mean(x) */
    pgy_value *scale, *shift; /* scale and shift in the shape of a row; NULL: none */
} pattern_norm;

/* Is n = x / sqrt(mean(x * x) + epsilon), over the last axes, or that times a constant? Leaves
 * scale and shift unset. */
bool pattern_norm_find(pattern_norm *out, pattern *p, pgy_node *n);
/* Is n = x * w + (shift - mean(x) * w) with w = scale / sqrt(variance + epsilon)? Such a form is
 * centred already. */
bool pattern_norm_find_apart(pattern_norm *out, pattern *p, pgy_node *n);
/* Replaces x by x' if x is x' - mean(x') over the same axes and has no other use. */
bool pattern_norm_centre(pattern_norm *m, pattern *p);
/* Skips a Cast of x to float32 and the Cast of the result back, because the fused operators compute
 * in float32 anyway. For standard operators only. */
void pattern_norm_narrow(pattern_norm *m, pattern *p);
/* Includes a following multiplication by constants in the shape of a row and, if `shift` is set, a
 * following addition. Without a multiplication, scale becomes ones. False: not possible. */
bool pattern_norm_affine(pattern_norm *m, pattern *p, bool shift);

#endif

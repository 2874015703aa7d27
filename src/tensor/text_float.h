/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the floats of one array like NumPy: all values share a layout, which depends on the
 * values. */
#ifndef TENSOR_TEXT_FLOAT_H
#define TENSOR_TEXT_FLOAT_H

#include "base/str.h"

typedef struct text_float {
    int bits; /* 16, 32 or 64: enough digits are printed to identify a value in a float type of this
                 width */
    bool always_sign; /* print + before positive values, as in imaginary parts */
    bool exponent;    /* print all values with an exponent */
    bool any_negative_inf, any_special, any_finite;
    double max,
        min; /* largest and smallest magnitude of non-zero finite values; 0: no such value */
    int left, right; /* columns before and after the point */
    int exponent_digits;
} text_float;

/* Pass all values twice: first to text_float_range, then, after text_float_choose, to
 * text_float_widths.
 */
void text_float_range(text_float *f, double v);
void text_float_choose(text_float *f);
void text_float_widths(text_float *f, double v);
void text_float_finish(text_float *f);
/* Prints one value in the common layout, after all values went through both passes. */
void text_float_append(str *out, const text_float *f, double v);
/* Prints a single value as NumPy prints a scalar. */
void text_float_scalar(str *out, int bits, double v);

#endif

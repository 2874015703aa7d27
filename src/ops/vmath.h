/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions over arrays, eight elements at a time, with an error of at most one unit in
 * the last place. A result depends on its argument alone, not on its index, the length or the
 * processor. y may be x. */
#ifndef OPS_VMATH_H
#define OPS_VMATH_H

#include <stddef.h>

void vmath_exp(double *y, const double *x, size_t n);
void vmath_tanh(double *y, const double *x, size_t n);
void vmath_erf(double *y, const double *x, size_t n);
void vmath_sigmoid(double *y, const double *x,
                   size_t n); /* 1 / (1 + exp(-x)), with two more roundings */

#endif

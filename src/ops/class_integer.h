/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised values as doubles: x minus zero point, and back by rounding, zero point and saturation.
 */
#ifndef OPS_CLASS_INTEGER_H
#define OPS_CLASS_INTEGER_H

#include "base/alloc.h"
#include "ops/class_check.h"

/* Allocates (mem_free) input `x` minus input `zero` (absent: 0), which has one element or one per
 * index of `axis`. The inputs may be integers or 8-bit floats. */
pgy_status integer_shifted(double **out, const op_eval *c, size_t x, size_t zero, size_t axis,
                           pgy_error *err) PGY_MUST_CHECK;
void integer_store(int64_t *to, const double *from, size_t count);
/* Rounds x half to even, adds the zero point and saturates to the type. */
int64_t integer_quantize(double x, int64_t zero, pgy_dtype dtype);
/* Adds input r to the integers in output 0, and quantises the sum. Input r has the output's shape,
 * or is a row for all of its rows; scale and zero point of the output before are inputs y_scale and
 * y_scale + 1, those of r and of the sum the four inputs behind r. */
pgy_status integer_add(op_eval *c, size_t y_scale, size_t r, pgy_error *err) PGY_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar conversions between float formats, rounded at most once, and access to single elements. */
#ifndef TENSOR_CONVERT_H
#define TENSOR_CONVERT_H

#include <polygraphy/tensor.h>

float f16_to_f32(uint16_t h);
uint16_t f16_from_f64(double v); /* rounds once, to nearest even */
float bf16_to_f32(uint16_t h);
uint16_t bf16_from_f64(double v);
/* Converts any float type of 8 bits or fewer, whose bits are the low bits of `code`. */
double f8_to_f64(pgy_dtype dtype, uint8_t code);
/* `saturate`: values that are too large become the largest finite value instead of infinity or NaN.
 */
uint8_t f8_from_f64(pgy_dtype dtype, double v, bool saturate);
/* Rounds v to a value of `dtype` (any float type), as storing and loading it would.
 */
double float_round(pgy_dtype dtype, double v, bool saturate);

/* Gives element i of compact data in the widest type of its kind. Strings and complex numbers are
 * not supported. */
double element_as_f64(pgy_dtype dtype, const void *data, size_t i);
int64_t element_as_i64(pgy_dtype dtype, const void *data, size_t i);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels on quantised tensors read from their uses: scales, zero points and types. */
#ifndef KERNELS_INT_PROBLEM_H
#define KERNELS_INT_PROBLEM_H

#include "kernels/kernel.h"

bool int_problem_is_byte(const kernel_tensor *t); /* int8 or uint8 */
/* Is input i given? */
bool int_problem_has(const kernel_problem *u, size_t i);
/* A constant of `count` elements or one, or absent. */
bool int_problem_is_fixed(const kernel_problem *u, size_t i, size_t count);
/* Scales that are positive, finite and of usual magnitude, in float32. */
bool int_problem_are_scales(const kernel_problem *u, size_t i, size_t count);
/* The same, zero among them. */
bool int_problem_are_factors(const kernel_problem *u, size_t i, size_t count);
/* Element k of a fixed input, or the only one; 0 if it is absent. */
double int_problem_float(const kernel_problem *u, size_t i, size_t k);
int64_t int_problem_int(const kernel_problem *u, size_t i, size_t k);
/* The limits of a type of 8 bits. */
int32_t int_problem_low(pgy_dtype dtype);
int32_t int_problem_high(pgy_dtype dtype);
/* All inputs and outputs linear. */
void int_problem_linear(kernel_problem *u);
/* A byte at run time as an unsigned number: int8 is moved by 128. 0 moved if it is absent. */
static inline int32_t int_problem_unsigned(const void *byte, bool is_signed)
{
    if (!byte) return is_signed ? 128 : 0;
    return is_signed ? *(const int8_t *)byte + 128 : *(const uint8_t *)byte;
}

#endif

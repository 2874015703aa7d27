/* SPDX-License-Identifier: Apache-2.0 */
/* Reads scales, zero points and types from the problems of kernels on quantised tensors. */
#ifndef KERNELS_INT_PROBLEM_H
#define KERNELS_INT_PROBLEM_H

#include "kernels/kernel.h"

bool int_problem_is_byte(const kernel_tensor *t); /* int8 or uint8 */
/* Is input i given? */
bool int_problem_has(const kernel_problem *u, size_t i);
/* Is input i absent, or a constant of one or `count` elements? */
bool int_problem_is_fixed(const kernel_problem *u, size_t i, size_t count);
/* Is input i float32 scales that are positive, finite and of usual magnitude? */
bool int_problem_are_scales(const kernel_problem *u, size_t i, size_t count);
/* As int_problem_are_scales, but zeros are allowed. */
bool int_problem_are_factors(const kernel_problem *u, size_t i, size_t count);
/* Element k of a constant input, or its only element; 0 if the input is absent. */
double int_problem_float(const kernel_problem *u, size_t i, size_t k);
int64_t int_problem_int(const kernel_problem *u, size_t i, size_t k);
/* Limits of an 8-bit type. */
int32_t int_problem_low(pgy_dtype dtype);
int32_t int_problem_high(pgy_dtype dtype);
/* Sets the layout of all inputs and outputs to linear. */
void int_problem_linear(kernel_problem *u);
/* Reads a byte at run time as an unsigned number: 128 is added to int8. An absent byte counts as
 * 0. */
static inline int32_t int_problem_unsigned(const void *byte, bool is_signed)
{
    if (!byte) return is_signed ? 128 : 0;
    return is_signed ? *(const int8_t *)byte + 128 : *(const uint8_t *)byte;
}

#endif

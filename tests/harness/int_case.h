/* SPDX-License-Identifier: Apache-2.0 */
/* Compares kernels on tensors of any type with their operator's reference definition: every kernel
 * variant, split into several numbers of parallel parts, with canaries around all memory. Results
 * must be equal to the last bit. */
#ifndef HARNESS_INT_CASE_H
#define HARNESS_INT_CASE_H

#include "harness/kernel_case.h"

typedef struct int_case {
    kernel_case c;                         /* node, attributes, problem */
    pgy_tensor *stored[KERNEL_MAX_INPUTS]; /* elements as tensors store them */
    /* elements in the declared type, as the kernel reads them */
    pgy_tensor *declared[KERNEL_MAX_INPUTS];
    op_tensor wanted[KERNEL_MAX_OUTPUTS];
    uint64_t seed;
} int_case;

void int_case_start(int_case *c, const char *domain, const char *op, int64_t opset);
/* Adds a random input: integers over the whole range of the type, floats in [-4, 4). rank < 0: the
 * input is omitted. */
void int_case_input(int_case *c, pgy_dtype dtype, bool constant, int32_t rank,
                    const int64_t *shape);
/* Adds a constant input with given elements. */
void int_case_values(int_case *c, pgy_dtype dtype, int32_t rank, const int64_t *shape,
                     const double *values);
void int_case_scalar(int_case *c, pgy_dtype dtype, double value);
/* Adds a constant vector of `count` quantization scales. */
void int_case_scales(int_case *c, int64_t count, double least);
/* Runs all variants. `tolerance`: largest error of float outputs, relative to their largest
 * magnitude; 0: must be equal. @return number of variants that ran */
size_t int_case_run(int_case *c, size_t outputs, double tolerance);
void int_case_end(int_case *c);

#endif

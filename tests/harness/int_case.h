/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on tensors of any types against their operator's reference definition: every variant, in
 * several numbers of parts, with canaries around all memory; equal to the last bit. */
#ifndef HARNESS_INT_CASE_H
#define HARNESS_INT_CASE_H

#include "harness/kernel_case.h"

typedef struct int_case {
    kernel_case c;                           /* node, attributes, use */
    pgy_tensor *stored[KERNEL_MAX_INPUTS];   /* in storage type */
    pgy_tensor *declared[KERNEL_MAX_INPUTS]; /* as the kernel sees it */
    op_tensor wanted[KERNEL_MAX_OUTPUTS];
    uint64_t seed;
} int_case;

void int_case_start(int_case *c, const char *domain, const char *op, int64_t opset);
/* Random: integers over the whole range of the type, floats in [-4, 4). rank < 0: omitted. */
void int_case_input(int_case *c, pgy_dtype dtype, bool constant, int32_t rank,
                    const int64_t *shape);
/* A constant with given elements. */
void int_case_values(int_case *c, pgy_dtype dtype, int32_t rank, const int64_t *shape,
                     const double *values);
void int_case_scalar(int_case *c, pgy_dtype dtype, double value);
/* A constant vector of `count` scales. */
void int_case_scales(int_case *c, int64_t count, double least);
/* @return how many variants ran. `tolerance`: of float outputs, relative to the largest
 * magnitude; 0: equal. */
size_t int_case_run(int_case *c, size_t outputs, double tolerance);
void int_case_end(int_case *c);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of float32 kernels: every variant that this processor supports runs a problem on poisoned
 * outputs, with canaries around all memory. The work is split into several numbers of parallel
 * parts, which must give the same bits. */
#ifndef HARNESS_KERNEL_CASE_H
#define HARNESS_KERNEL_CASE_H

#include "kernels/kernel.h"

/* A problem with linear layouts and random values. */
typedef struct kernel_case {
    op_node node;
    op_attr attrs[8];
    kernel_problem problem;
    int64_t shapes[KERNEL_MAX_INPUTS + KERNEL_MAX_OUTPUTS][8];
    float *inputs[KERNEL_MAX_INPUTS];
    double *wanted; /* expected elements of output 0, set by the caller */
} kernel_case;

void case_start(kernel_case *c, const char *domain, const char *op, int64_t opset);
void case_attr_int(kernel_case *c, const char *name, int64_t value);
void case_attr_float(kernel_case *c, const char *name, float value);
void case_attr_ints(kernel_case *c, const char *name, const int64_t *values, size_t count);
void case_attr_text(kernel_case *c, const char *name, const char *text);
/* Adds a float32 input, random in [-1, 1) unless the caller changes inputs[i]. `constant`: its
 * elements are known when the kernel is prepared. rank < 0: the input is omitted. */
void case_input(kernel_case *c, bool constant, int32_t rank, const int64_t *shape);
void case_output(kernel_case *c, int32_t rank, const int64_t *shape);
/* Is k a kernel of a lower instruction-set level, beside one of the processor's own level that
 * takes the problem, too? Such a kernel is tested with two numbers of parts; the runs with
 * POLYGRAPHY_CPU test it with all five. The address sanitizer's build has no such runs, so the
 * answer is no. */
bool case_is_narrow(const kernel *k, const kernel_problem *offered);
size_t case_count(const kernel_tensor *t);
/* Runs all variants that accept the problem. Errors of output 0 must not exceed `tolerance` times
 * the largest magnitude in `wanted`. Outputs in blocked layouts are read correctly. @return number
 * of variants that ran */
size_t case_run(kernel_case *c, double tolerance);
/* Like case_run, with all non-constant inputs of rank 3 and more in `layout`. */
size_t case_run_layout(kernel_case *c, kernel_layout layout, double tolerance);
void case_end(kernel_case *c);

#endif

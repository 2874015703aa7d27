/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels under test: every variant this processor has runs a use on poisoned outputs, cut into
 * several numbers of parts that must give the same bits, with canaries around all memory. */
#ifndef HARNESS_KERNEL_CASE_H
#define HARNESS_KERNEL_CASE_H

#include "kernels/kernel.h"

/* A use, linear layouts; values are made up from a seed. */
typedef struct kernel_case {
    op_node node;
    op_attr attrs[8];
    kernel_problem use;
    int64_t shapes[KERNEL_MAX_INPUTS + KERNEL_MAX_OUTPUTS][8];
    float *inputs[KERNEL_MAX_INPUTS];
    double *wanted; /* of output 0, from the caller */
} kernel_case;

void case_start(kernel_case *c, const char *domain, const char *op, int64_t opset);
void case_attr_int(kernel_case *c, const char *name, int64_t value);
void case_attr_float(kernel_case *c, const char *name, float value);
void case_attr_ints(kernel_case *c, const char *name, const int64_t *values, size_t count);
void case_attr_text(kernel_case *c, const char *name, const char *text);
/* float32, random in [-1, 1) unless the caller changes inputs[i]; `constant`: known when the kernel
 * is prepared. rank < 0: omitted. */
void case_input(kernel_case *c, bool constant, int32_t rank, const int64_t *shape);
void case_output(kernel_case *c, int32_t rank, const int64_t *shape);
size_t case_count(const kernel_tensor *t);
/* Runs all variants that accept the use; each output 0 must be within `tolerance` times the largest
 * magnitude of `wanted`. Outputs may be blocked: they are brought back. @return how many variants
 * ran */
size_t case_run(kernel_case *c, double tolerance);
/* Like case_run for one variant and layouts: inputs are offered in `layout` where rank >= 3. */
size_t case_run_layout(kernel_case *c, kernel_layout layout, double tolerance);
void case_end(kernel_case *c);

#endif

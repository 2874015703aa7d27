/* SPDX-License-Identifier: Apache-2.0 */
/* Compares kernels with the operator's reference definition, for inputs of any type. Every variant
 * runs on poisoned outputs with canaries around all memory, and in place where the plan allows it.
 * The work is split into several numbers of parallel parts, which must give the same bits. */
#ifndef HARNESS_REFERENCE_CASE_H
#define HARNESS_REFERENCE_CASE_H

#include "kernels/kernel.h"

typedef struct reference_case {
    op_node node;
    op_attr attrs[16];
    size_t input_count;
    pgy_tensor *inputs[KERNEL_MAX_INPUTS]; /* NULL: omitted */
    bool constant[KERNEL_MAX_INPUTS];
    uint64_t seed;
} reference_case;

void reference_start(reference_case *c, const char *domain, const char *op, int64_t opset);
void reference_attr_int(reference_case *c, const char *name, int64_t value);
void reference_attr_float(reference_case *c, const char *name, float value);
void reference_attr_ints(reference_case *c, const char *name, const int64_t *values, size_t count);
void reference_attr_floats(reference_case *c, const char *name, const float *values, size_t count);
void reference_attr_text(reference_case *c, const char *name, const char *text);
/* Makes a tensor of `dtype` from the numbers; reference_run releases it. */
void reference_attr_tensor(reference_case *c, const char *name, pgy_dtype dtype,
                           const double *values, size_t count);
/* Adds an input with a shape like "2 3 4"; NULL: the input is omitted. Floats are random in [-4,
 * 4), integers in [-9, 9] ([0, 9] if unsigned). @return the elements, which the caller may change
 */
void *reference_input(reference_case *c, pgy_dtype dtype, const char *shape);
/* Adds a constant int64 input of rank 1, such as axes or sizes. */
void reference_ints(reference_case *c, const int64_t *values, size_t count);
/* Makes the input added last a constant, whose elements are known when the kernel is prepared. */
void reference_constant(reference_case *c);
/* Runs all variants and releases the case. Errors of float outputs must not exceed `tolerance`
 * times the largest magnitude of the reference's; other types must be equal. @return number of
 * variants that accepted the problem */
size_t reference_run(reference_case *c, size_t outputs, double tolerance);
/* Gives what the definition computes, in declared types; the caller releases the tensors. */
void reference_wanted(reference_case *c, size_t outputs, pgy_tensor **wanted);
/* Like reference_run, with all non-constant inputs of rank 3 and more in `layout`. */
size_t reference_run_layout(reference_case *c, size_t outputs, kernel_layout layout,
                            double tolerance);

#endif

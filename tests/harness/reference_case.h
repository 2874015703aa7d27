/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels against the operator's reference definition, for inputs of any type: every variant runs
 * on poisoned outputs with canaries around all memory, cut into several numbers of parts that must
 * give the same bits, and in place where the plan allows it. */
#ifndef HARNESS_REFERENCE_CASE_H
#define HARNESS_REFERENCE_CASE_H

#include "kernels/kernel.h"

typedef struct reference_case {
    op_node node;
    op_attr attrs[8];
    size_t input_count;
    pgy_tensor *inputs[KERNEL_MAX_INPUTS]; /* NULL: omitted */
    bool constant[KERNEL_MAX_INPUTS];
    uint64_t seed;
} reference_case;

void reference_start(reference_case *c, const char *domain, const char *op, int64_t opset);
void reference_attr_int(reference_case *c, const char *name, int64_t value);
void reference_attr_float(reference_case *c, const char *name, float value);
void reference_attr_ints(reference_case *c, const char *name, const int64_t *values, size_t count);
void reference_attr_text(reference_case *c, const char *name, const char *text);
/* `shape` as text, "2 3 4"; NULL: omitted. Floats are random in [-4, 4), integers in [-9, 9] ([0,
 * 9] if unsigned). @return the data, to change */
void *reference_input(reference_case *c, pgy_dtype dtype, const char *shape);
/* A constant of int64 numbers, rank 1: axes, sizes. */
void reference_ints(reference_case *c, const int64_t *values, size_t count);
/* The input added last is known when the kernel is prepared. */
void reference_constant(reference_case *c);
/* Floats of all `outputs` must be within `tolerance` times the largest magnitude of what the
 * reference gives, other types equal. @return how many variants accepted the use; releases the
 * case */
size_t reference_run(reference_case *c, size_t outputs, double tolerance);
/* The same with inputs of rank 3 and more that are not constant in this layout. */
size_t reference_run_layout(reference_case *c, size_t outputs, kernel_layout layout,
                            double tolerance);

#endif

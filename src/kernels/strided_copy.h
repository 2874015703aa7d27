/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a tensor whose elements are read with other strides: what Transpose, Slice and Expand have
 * in common. Only the width of an element matters, not its type. */
#ifndef KERNELS_STRIDED_COPY_H
#define KERNELS_STRIDED_COPY_H

#include "kernels/walk.h"

enum { STRIDED_AXES = 16 };

/* The input seen through the output's axes: their sizes and strides. */
typedef struct strided_view {
    int32_t rank;
    int64_t shape[STRIDED_AXES], strides[STRIDED_AXES], offset;
} strided_view;

/* The parameters of a copy. */
typedef struct strided_copy {
    walk w;
    uint64_t offset; /* index of the first input element that is read */
    uint32_t item;   /* bytes of an element */
    uint32_t inputs;
} strided_copy;

/* Changes `v` from the plain input to the view of it that the operator copies. Returns false if the
 * problem is not a strided copy. */
typedef bool strided_view_of(strided_view *v, const kernel_problem *u);

bool strided_copy_describe(strided_copy *c, const kernel_problem *u, strided_view_of *view_of);
/* Sets linear layouts in `u`, and *cost_ns for a copy that strided_copy_describe has set. */
void strided_copy_cost(kernel_problem *u, const strided_copy *c, double *cost_ns);
/* Makes a plan with a copy of `params`, which has `size_bytes` bytes and starts with a
 * strided_copy. */
pgy_status strided_copy_plan(kernel_plan *out, const void *params, size_t size_bytes,
                             pgy_error *err) PGY_MUST_CHECK;
bool strided_copy_extent(kernel_extent *e, const kernel_claim *q, const strided_copy *c);
/* Copies runs along the last axis. */
void strided_copy_run(const strided_copy *c, const kernel_run *r);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of float32 on tensors of float16 and bfloat16: "half:NAME" is kernel NAME with
 * conversions around it. */
#ifndef KERNELS_HALF_ADAPTER_H
#define KERNELS_HALF_ADAPTER_H

#include "kernels/extent.h"

/* One entry for each kernel of `families` (tables, NULL at the end); ends with name NULL. Made by
 * the first call, which must have returned before others are made. */
const kernel *half_adapter_table(const kernel *const *families);

/* What an entry of that table wraps. */
const kernel *half_adapter_inner(const kernel *self);

/* ---- half_adapter.c: the functions of every entry ---- */
bool half_adapter_accept(kernel_problem *u, double *cost_ns);
pgy_status half_adapter_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err);
void half_adapter_run(const kernel_run *r);
bool half_adapter_extent(kernel_extent *e, const kernel_claim *q);

/* ---- half_adapter_rows.c ---- */

enum { HALF_ADAPTER_TENSORS = KERNEL_TENSORS, HALF_ADAPTER_RANK = 8 };

/* A use cut into chunks of rows that do not depend on each other, all computed by one prepared use
 * of the chunk's shape. */
typedef struct half_adapter_rows {
    uint64_t rows, chunk;                     /* chunk: rows of one */
    uint64_t row_count[HALF_ADAPTER_TENSORS]; /* of inputs, then outputs: elements in a row; 0: the
                                           same for all rows */
    int64_t shapes[HALF_ADAPTER_TENSORS][HALF_ADAPTER_RANK];
    kernel_problem use; /* of a chunk; its shapes are above */
} half_adapter_rows;

/* `wide`: in float32, with layouts that `inner` has accepted. False: it cannot be cut. */
bool half_adapter_cut(half_adapter_rows *out, const kernel *inner, const kernel_problem *wide);

#endif

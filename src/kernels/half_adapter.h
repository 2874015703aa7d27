/* SPDX-License-Identifier: Apache-2.0 */
/* Runs float32 kernels on float16 and bfloat16 tensors: kernel "half:NAME" converts the inputs,
 * calls kernel NAME and converts its outputs. */
#ifndef KERNELS_HALF_ADAPTER_H
#define KERNELS_HALF_ADAPTER_H

#include "kernels/extent.h"

/* Returns one entry for each kernel of `families` (tables, NULL at the end); ends with name NULL.
 * The first call makes the table and must return before any other call starts. */
const kernel *half_adapter_table(const kernel *const *families);

/* The float32 kernel that an entry of that table wraps. */
const kernel *half_adapter_inner(const kernel *self);

/* ---- half_adapter.c: the functions of every entry ------------------------------------------- */
bool half_adapter_accept(kernel_problem *u, double *cost_ns);
pgy_status half_adapter_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err);
void half_adapter_run(const kernel_run *r);
bool half_adapter_extent(kernel_extent *e, const kernel_claim *q);

/* ---- half_adapter_rows.c -------------------------------------------------------------------- */

enum { HALF_ADAPTER_TENSORS = KERNEL_TENSORS, HALF_ADAPTER_RANK = 8 };

/* A problem cut into chunks of independent rows. One kernel, prepared for the shape of a chunk,
 * computes them all. */
typedef struct half_adapter_rows {
    uint64_t rows, chunk;                     /* chunk: rows in one chunk */
    uint64_t row_count[HALF_ADAPTER_TENSORS]; /* of inputs, then outputs: elements in a row; 0: all
                                                 rows share the tensor */
    int64_t shapes[HALF_ADAPTER_TENSORS][HALF_ADAPTER_RANK];
    kernel_problem use; /* the problem of one chunk; points into `shapes` */
} half_adapter_rows;

/* `wide`: the problem in float32, with the layouts that `inner` accepted. False: rows depend on
 * each other, or the problem cannot be cut for another reason. */
bool half_adapter_cut(half_adapter_rows *out, const kernel *inner, const kernel_problem *wide);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs float32 kernels on float16 and bfloat16 tensors: kernel "half:NAME" converts the inputs,
 * calls kernel NAME and converts its outputs. */
#ifndef KERNELS_HALF_ADAPTER_H
#define KERNELS_HALF_ADAPTER_H

#include "kernels/extent.h"

/* Returns a table of kernels "half:NAME", one for each kernel in `families` that needs it; the last
 * entry has name NULL. `families` lists tables and ends with NULL. The first call makes the table
 * and must return before any other call starts. */
const kernel *half_adapter_table(const kernel *const *families);

/* ---- half_adapter_table.c ------------------------------------------------------------------- */

/* Makes the entries of that table; each has the functions of `like`. */
const kernel *half_adapter_wrap(const kernel *const *families, const kernel *like);
/* The float32 kernel that an entry of that table wraps. */
const kernel *half_adapter_inner(const kernel *self);

/* ---- half_adapter_rows.c -------------------------------------------------------------------- */

enum { HALF_ADAPTER_TENSORS = KERNEL_TENSORS, HALF_ADAPTER_RANK = 8 };

/* A problem cut into chunks of independent rows. One kernel, prepared for the shape of a chunk,
 * computes them all. */
typedef struct half_adapter_rows {
    uint64_t rows, chunk; /* chunk: rows in one chunk */
    /* For each input, then output: elements in a row; 0: all rows share the tensor. */
    uint64_t row_count[HALF_ADAPTER_TENSORS];
    int64_t shapes[HALF_ADAPTER_TENSORS][HALF_ADAPTER_RANK];
    kernel_problem problem; /* the problem of one chunk; points into `shapes` */
} half_adapter_rows;

/* `wide`: the problem in float32, with the layouts that `inner` accepted. False: rows depend on
 * each other, or the problem cannot be cut for another reason. */
bool half_adapter_cut(half_adapter_rows *out, const kernel *inner, const kernel_problem *wide);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of float32 on tensors of float16 and bfloat16: "narrow:NAME" is kernel NAME with
 * conversions around it. */
#ifndef KERNELS_NARROW_H
#define KERNELS_NARROW_H

#include "kernels/extent.h"

/* One entry for each kernel of `families` (tables, NULL at the end); ends with name NULL. Made by
 * the first call, which must have returned before others are made. */
const kernel *narrow_table(const kernel *const *families);

/* What an entry of that table wraps. */
const kernel *narrow_inner(const kernel *self);

/* ---- narrow.c: the functions of every entry ---- */
bool narrow_accept(kernel_use *u, double *cost_ns);
pgy_status narrow_prepare(kernel_plan *out, const kernel_use *u, pgy_error *err);
void narrow_run(const kernel_run *r);
bool narrow_extent(kernel_extent *e, const kernel_claim *q);

/* ---- narrow_rows.c ---- */

enum { NARROW_TENSORS = KERNEL_TENSORS, NARROW_RANK = 8 };

/* A use cut into chunks of rows that do not depend on each other, all computed by one prepared use
 * of the chunk's shape. */
typedef struct narrow_rows {
    uint64_t rows, chunk;               /* chunk: rows of one */
    uint64_t row_count[NARROW_TENSORS]; /* of inputs, then outputs: elements in a row; 0: the same
                                           for all rows */
    int64_t shapes[NARROW_TENSORS][NARROW_RANK];
    kernel_use use; /* of a chunk; its shapes are above */
} narrow_rows;

/* `wide`: in float32, with layouts that `inner` has accepted. False: it cannot be cut. */
bool narrow_cut(narrow_rows *out, const kernel *inner, const kernel_use *wide);

#endif

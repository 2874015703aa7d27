/* SPDX-License-Identifier: Apache-2.0 */
/* Iteration over the elements of a tensor together with operands that broadcast to it. Neighbouring
 * axes with compatible strides in all operands are merged, so most problems have one or two
 * axes. */
#ifndef KERNELS_WALK_H
#define KERNELS_WALK_H

#include "kernels/extent.h"

enum { WALK_AXES = 8, WALK_PIECE = 2048, WALK_ALIGN = 64 };

/* The output is contiguous. Strides in elements; those of the last axis are 0 or 1 (walk_init) or
 * anything (walk_init_strided). */
typedef struct walk {
    uint32_t rank, operands;
    uint64_t count;
    uint64_t shape[WALK_AXES];
    uint64_t strides[KERNEL_MAX_INPUTS][WALK_AXES];
} walk;

/* Makes a walk over `out` with operands in linear layout that broadcast as in NumPy. */
bool walk_init(walk *w, const kernel_tensor *out, const kernel_tensor *const *operands,
               uint32_t count);
/* Makes a walk over an output of this shape; operand i has stride strides[i * rank + axis]. */
bool walk_init_strided(walk *w, const int64_t *shape, int32_t rank, const int64_t *strides,
                       uint32_t operands);

/* Refuses an invalid walk from a plan file. `unit`: strides of the last axis must be 0 or 1. */
bool walk_extent(kernel_extent *e, const walk *w, bool unit);
/* Elements of an operand up to and including the last one that a valid walk reaches. */
uint64_t walk_reach(const walk *w, uint32_t operand);

/* The position of a walk. */
typedef struct walk_at {
    uint64_t index[WALK_AXES];
    uint64_t offset[KERNEL_MAX_INPUTS]; /* index of the current element of each operand */
    uint64_t done, end; /* indices of the current output element and of the part's end */
} walk_at;

/* Starts part `part` of `parts`; parts begin at multiples of WALK_ALIGN elements. */
void walk_begin(walk_at *at, const walk *w, uint32_t part, uint32_t parts);
/* Finds the next run along the last axis: *n elements, at most `limit`, at at->done and at->offset.
 * walk_next must follow. False at the end, and after pgy_cancel. */
bool walk_run(const walk_at *at, const walk *w, size_t limit, size_t *n);
void walk_next(walk_at *at, const walk *w, size_t n);
/* The number of parts into which it pays to cut `count` elements of `bytes_each` bytes. */
uint32_t walk_parts(uint64_t count, uint64_t bytes_each);

#endif

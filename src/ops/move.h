/* SPDX-License-Identifier: Apache-2.0 */
/* Data movement that knows only the size of an element: the copies behind Transpose, Slice, Concat,
 * Gather, Pad... */
#ifndef OPS_MOVE_H
#define OPS_MOVE_H

#include "ops/op.h"

/* A copy of a box of elements. Strides are in elements and may be zero or negative in `from`; in
 * `to` they must give every element its own place. */
typedef struct move_box {
    size_t rank; /* at most PGY_MAX_RANK */
    size_t size[PGY_MAX_RANK];
    ptrdiff_t to[PGY_MAX_RANK], from[PGY_MAX_RANK];
} move_box;

size_t move_size(pgy_dtype storage); /* bytes of an element in storage type */
void move_copy(void *to, const void *from, size_t element_bytes, const move_box *box);
/* Compact row-major strides. Returns the number of elements. */
size_t move_strides(ptrdiff_t *strides, size_t rank, const int64_t *shape);
/* A box over `shape` with compact strides on both sides, to be changed by the caller. */
void move_box_init(move_box *box, size_t rank, const int64_t *shape);
/* Strings that were moved as bytes become the tensor's own. Numbers: nothing to do. Call while the
 * sources live. */
pgy_status move_own(pgy_tensor *t, pgy_error *err) PGY_MUST_CHECK;
/* Elements of a shape between two axes, [begin, end). */
size_t move_product(const int64_t *shape, size_t begin, size_t end);
/* Copies of one element next to each other. */
void move_fill(void *to, const void *element, size_t element_bytes, size_t count);

#endif

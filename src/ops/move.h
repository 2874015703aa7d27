/* SPDX-License-Identifier: Apache-2.0 */
/* Data movement that depends on the size of an element only, not on its type: the copies behind
 * Transpose, Slice, Concat, Gather, Pad... */
#ifndef OPS_MOVE_H
#define OPS_MOVE_H

#include "ops/op.h"

/* Describes the copy of a box of elements. Strides are in elements. Strides in `from` may be zero
 * or negative; strides in `to` must give every element its own place. */
typedef struct move_box {
    size_t rank; /* at most PGY_MAX_RANK */
    size_t size[PGY_MAX_RANK];
    ptrdiff_t to[PGY_MAX_RANK], from[PGY_MAX_RANK];
} move_box;

size_t move_size(pgy_dtype storage); /* bytes of an element in storage type */
void move_copy(void *to, const void *from, size_t element_bytes, const move_box *box);
/* Computes compact row-major strides; returns the number of elements. */
size_t move_strides(ptrdiff_t *strides, size_t rank, const int64_t *shape);
/* Sets a box for a copy between two compact row-major tensors of this shape; the caller then
 * changes strides or sizes. */
void move_box_init(move_box *box, size_t rank, const int64_t *shape);
/* Duplicates strings whose pointers were moved as bytes, so that the tensor owns them; does nothing
 * for numbers. Call it while the source tensors live. */
pgy_status move_own(pgy_tensor *t, pgy_error *err) PGY_MUST_CHECK;
/* Product of the dims [begin, end) of a shape. */
size_t move_product(const int64_t *shape, size_t begin, size_t end);
/* Writes `count` copies of one element, one after the other. */
void move_fill(void *to, const void *element, size_t element_bytes, size_t count);

#endif

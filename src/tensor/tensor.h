/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the tensor layer that are not public: uninitialised tensors, fast copies, swapping.
 */
#ifndef TENSOR_TENSOR_H
#define TENSOR_TENSOR_H

#include <polygraphy/tensor.h>

#include "base/file.h"

/* PGY_E_DEVICE unless the host can read the elements. */
pgy_status view_need_host(const pgy_view *v, pgy_error *err) PGY_MUST_CHECK;
/* Like pgy_tensor_create, but numeric contents stay undefined. */
pgy_status tensor_create_raw(pgy_tensor **out, pgy_dtype dtype, size_t rank, const int64_t *shape,
                             pgy_error *err) PGY_MUST_CHECK;
/* Copies the texts that elements of t, which other tensors own, point to. */
pgy_status tensor_own_texts(pgy_tensor *t, pgy_error *err) PGY_MUST_CHECK;
/* Keeps the texts of `from` while t lives, so that elements of t, a new tensor, may point to them.
 */
void tensor_share_texts(pgy_tensor *t, const pgy_tensor *from);
/* Zeroed memory that lives as long as the elements of t, to which they may point; NULL: out of
 * memory. One block for the texts of a tensor costs less than one for each. */
char *tensor_text_room(pgy_tensor *t, size_t size_bytes);
/* Copies into newly allocated memory; large copies use several threads. */
void tensor_copy_bytes(void *to, const void *from, size_t size_bytes);
/* Like tensor_copy_bytes, but from an offset in an open file, which must have that many bytes. */
void tensor_read_bytes(void *to, const file_map *map, size_t offset, size_t size_bytes);

/* The first rows of axis 2 of a tensor of rank 4. `shape` is that of the result, and `strides`
 * receives its four strides; both must outlive the view. */
pgy_view tensor_first_rows(const pgy_tensor *t, const int64_t *shape, int64_t *strides);

/* True if the elements belong to a caller, whose callback is called at the last release. */
bool tensor_is_borrowed(const pgy_tensor *t);

/* The file that holds the elements of a swapped tensor, or NULL. */
const char *tensor_swap_path(const pgy_tensor *t);
/* tensor_can_swap: true if the tensor is not swapped, has numeric elements, and only the caller can
 * access them: there is no other reference, and no other tensor over its buffer. tensor_set_swapped
 * takes over the path (from file_temp_path) and frees the memory. */
bool tensor_can_swap(const pgy_tensor *t);
void tensor_set_swapped(pgy_tensor *t, char *path);

#endif

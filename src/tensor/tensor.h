/* SPDX-License-Identifier: Apache-2.0 */
/* What the tensor layer shares inside itself: tensors whose contents are about to be overwritten.
 */
#ifndef TENSOR_TENSOR_H
#define TENSOR_TENSOR_H

#include <polygraphy/tensor.h>

#include "base/file.h"

/* PGY_E_DEVICE unless the host can read the elements. */
pgy_status view_need_host(const pgy_view *v, pgy_error *err) PGY_MUST_CHECK;
/* As pgy_tensor_create, but numeric contents are left undefined. */
pgy_status tensor_create_raw(pgy_tensor **out, pgy_dtype dtype, size_t rank, const int64_t *shape,
                             pgy_error *err) PGY_MUST_CHECK;
/* Copies into new memory, on several threads if large. */
void tensor_copy_bytes(void *to, const void *from, size_t size_bytes);
/* The same from a place in an open file, which must have that many bytes. */
void tensor_read_bytes(void *to, const file_map *map, size_t offset, size_t size_bytes);

/* Does somebody else hold the elements, who is told when they are not needed any more? */
bool tensor_is_borrowed(const pgy_tensor *t);

/* The file a swapped tensor lives in, or NULL; and the two moves between memory and file. */
const char *tensor_swap_path(const pgy_tensor *t);
/* Takes the path (from file_temp_path) and frees the memory. False: the memory is shared or
 * borrowed, nothing changed. */
bool tensor_can_swap(const pgy_tensor *t);
void tensor_set_swapped(pgy_tensor *t, char *path);

#endif

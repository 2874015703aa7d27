/* SPDX-License-Identifier: Apache-2.0 */
/* The first k elements of a line, in order. */
#ifndef KERNELS_SEARCH_TOP_H
#define KERNELS_SEARCH_TOP_H

#include "kernels/search_loops.h"

/* Writes the indices of the best k of n elements, 1 <= k <= n <= UINT32_MAX. Elements are ordered
 * by value, NaN first, then by index. `scratch` has search_top_bytes(n, k) bytes. After pgy_cancel
 * the indices are any. */
void search_top_indices(int64_t *indices, search_type type, cpu_level level, const void *x,
                        size_t n, size_t k, bool smallest, void *scratch);
uint64_t search_top_bytes(uint64_t n, uint64_t k);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts items by a small number, such as the expert that each one chose. */
#ifndef KERNELS_GROUP_SORT_H
#define KERNELS_GROUP_SORT_H

#include <stdint.h>
#include <string.h>

/* group_of[i] < groups is the group of item i. Lists in `items` the items of group 0, then those of
 * group 1 and so on, each in their order. Those of group g begin at start[g]; start has groups + 1
 * elements. */
static inline void group_sort(uint32_t *start, uint32_t *items, const uint32_t *group_of,
                              size_t count, size_t groups)
{
    memset(start, 0, (groups + 1) * sizeof *start);
    for (size_t i = 0; i < count; i++) start[group_of[i] + 1]++;
    for (size_t g = 0; g < groups; g++) start[g + 1] += start[g];
    for (size_t i = 0; i < count; i++) items[start[group_of[i]]++] = (uint32_t)i;
    memmove(start + 1, start, groups * sizeof *start);
    start[0] = 0;
}

#endif

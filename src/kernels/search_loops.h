/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of search.c over float32, int64 and int32, one set for each type and processor level. NaN
 * ranks before every number. */
#ifndef KERNELS_SEARCH_LOOPS_H
#define KERNELS_SEARCH_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system.h"

enum {
    SEARCH_COLUMNS = 256, /* limit of neighbouring lines for best_of_columns */
    SEARCH_BLOCK = 32     /* elements that `candidate` looks at together */
};
typedef enum search_type { SEARCH_F32, SEARCH_I64, SEARCH_I32, SEARCH_TYPES } search_type;

/* How lines are read: the largest or smallest element, the first or last of equals. */
typedef struct search_order {
    bool smallest, last;
} search_order;

typedef struct search_loops {
    /* The index of the best of n elements, at least one. */
    size_t (*best)(const void *x, size_t n, search_order o);
    /* The indices of the best elements of neighbouring lines, whose elements are `stride` apart. */
    void (*best_of_columns)(int64_t *index, const void *x, size_t length, size_t stride,
                            size_t columns, search_order o);
    /* From element i on, finds a block of SEARCH_BLOCK that has an element before *limit, which is
     * no NaN; returns its first index, or n. */
    size_t (*candidate)(const void *x, size_t i, size_t n, const void *limit, bool smallest);
    /* Running sums of neighbouring lines; `exclusive`: without the element itself. */
    void (*sums_of_columns)(void *y, const void *x, size_t length, size_t stride, size_t columns,
                            bool exclusive, bool reverse);
} search_loops;

const search_loops *search_loops_of(search_type type, cpu_level level);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of embedding_bag.c: rows of a table are combined, column by column, in their order. */
#ifndef KERNELS_EMBEDDING_BAG_H
#define KERNELS_EMBEDDING_BAG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/system.h"

/* Rows that a loop combines, with what y[0] to y[width - 1] hold unless they are the first ones of
 * their bag: then the loop need not read what was just written. */
typedef struct bag_rows {
    const float *const *rows;
    const float *weights; /* a factor for each row; NULL: none */
    size_t count, width;
    bool first;
} bag_rows;

typedef struct bag_loops {
    void (*add)(float *y, const bag_rows *r);
    void (*most)(float *y, const bag_rows *r); /* NaN is larger than every number */
} bag_loops;

extern const bag_loops bag_loops_portable, bag_loops_avx2, bag_loops_avx512;

#endif

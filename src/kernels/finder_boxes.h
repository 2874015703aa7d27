/* SPDX-License-Identifier: Apache-2.0 */
/* Which of 32 boxes may a box touch? */
#ifndef KERNELS_FINDER_BOXES_H
#define KERNELS_FINDER_BOXES_H

#include "base/system.h"

enum { BOXES_BLOCK = 32 };

typedef struct boxes_block {
    float y0[BOXES_BLOCK], x0[BOXES_BLOCK], y1[BOXES_BLOCK], x1[BOXES_BLOCK];
} boxes_block;

/* Bit i: box i and the one with the corners y0, x0, y1, x1 are not apart. Of a box whose y0 is NaN
 * the bit is 0. */
typedef uint32_t boxes_touch(const boxes_block *b, const float *corners);
boxes_touch *boxes_touch_of(cpu_level level);

#endif

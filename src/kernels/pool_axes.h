/* SPDX-License-Identifier: Apache-2.0 */
/* The window of a pooling kernel over up to three spatial axes, which the first axes of images with
 * fewer fill with size 1. Plans store it as part of the kernels' parameters. */
#ifndef KERNELS_POOL_AXES_H
#define KERNELS_POOL_AXES_H

#include "kernels/kernel.h"

enum { POOL_AXES = 3 };

typedef struct pool_axes {
    int64_t in[POOL_AXES], out[POOL_AXES], window[POOL_AXES], stride[POOL_AXES];
    int64_t dilation[POOL_AXES], begin[POOL_AXES], end[POOL_AXES]; /* begin, end: padding */
} pool_axes;

/* Reads the window of a node; false: it has none, or a wrong one. */
bool pool_axes_read(pool_axes *a, const kernel_problem *u);
/* A window as large as image x. */
void pool_axes_set_global(pool_axes *a, const kernel_tensor *x);

/* Are the numbers, which come from a file, so small that products of two fit int64_t? */
bool pool_axes_are_valid(const pool_axes *a);
/* The product of three sizes; EXTENT_TOO_MUCH if it is too large or one is negative. */
uint64_t pool_axes_volume(const int64_t sizes[POOL_AXES]);

#endif

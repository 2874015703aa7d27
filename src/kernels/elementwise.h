/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise loops, one table for each processor level; entries are in the order of
 * elementwise.def. */
#ifndef KERNELS_ELEMENTWISE_H
#define KERNELS_ELEMENTWISE_H

#include <stddef.h>

#include "base/system.h"
#include "kernels/walk.h"

/* y[i] = f(x[0][i * step[0]], x[1][i * step[1]], ...); steps are 0 or 1, and 1 if there is only one
 * operand. y may be an operand whose step is 1. */
typedef void (*elementwise_loop)(void *y, const void *const *x, const uint32_t *step, size_t n,
                                 const float *args);

enum {
#define ROW(op, in, out, loop, count, args, ns) ELEMENTWISE_##loop,
#include "kernels/elementwise.def"
#undef ROW
    ELEMENTWISE_COUNT
};

extern const elementwise_loop elementwise_portable[], elementwise_avx2[], elementwise_avx512[];
/* The table of a processor level. */
const elementwise_loop *elementwise_table(cpu_level level);

/* Takes the layout of the largest of the first `operands` inputs for all tensors if the walk can
 * read them in it, else linear. Then computes the walk. */
bool elementwise_place(walk *w, kernel_problem *u, uint32_t operands);

#endif

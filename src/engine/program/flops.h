/* SPDX-License-Identifier: Apache-2.0 */
/* Floating-point operations of layers that are made of products, for traces. */
#ifndef ENGINE_PROGRAM_FLOPS_H
#define ENGINE_PROGRAM_FLOPS_H

#include <stdint.h>

typedef struct flops_shape {
    int32_t rank; /* negative: unknown */
    const int64_t *dims;
} flops_shape;

enum { FLOPS_INPUTS = 3 };

/* Operations of a convolution or matrix product with these first inputs and output y; a
 * multiply-add counts as two. `op` may be the operator of a fused node. 0: another operator, or
 * unknown. */
double program_flops(const char *op, const flops_shape inputs[FLOPS_INPUTS], flops_shape y);

#endif

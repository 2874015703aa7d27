/* SPDX-License-Identifier: Apache-2.0 */
/* Writes programs for pointwise.cu and launches them. */
#ifndef KERNELS_CUDA_POINTWISE_H
#define KERNELS_CUDA_POINTWISE_H

#include "kernels/cuda/code.h"
#include "kernels/walk.h"

enum { POINTWISE_MORE = 128 };

typedef struct pointwise {
    const walk *w;
    uint32_t operands;
    /* Type names in the sources, of operands and output (see cuda_type). */
    const char *types[KERNEL_MAX_INPUTS], *out;
    uint32_t items[KERNEL_MAX_INPUTS], out_item; /* bytes of an element of operands and output */
    /* What the program reads as `a.more`, of the type MORE in the source; multiples of 8 bytes, at
     * most POINTWISE_MORE. 0: nothing. */
    const void *more;
    size_t more_bytes;
} pointwise;

/* Number of neighbouring elements that a thread computes at once, so that one memory access has up
 * to 16 bytes. */
uint32_t pointwise_vector(const pointwise *p);
/* `steps`: statements that use the operands x0, x1, ...; `result`: the expression that is stored.
 */
void pointwise_write(cuda_source *s, str *defines, const pointwise *p, const char *steps,
                     const char *result);
pgy_status pointwise_launch(device_stream *s, const cuda_loaded *l, const pointwise *p, void *y,
                            void *const *x, pgy_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions in channels last with packed weights, for families that compute them in another way
 * on some GPUs (boxed.c). */
#ifndef KERNELS_CUDA_CONV_LAST_H
#define KERNELS_CUDA_CONV_LAST_H

#include "kernels/conv.h"
#include "kernels/cuda/packed.h"

typedef struct conv_last_params {
    conv_shape s;
    packed_cut cut;
    uint32_t type, bias_type, sum_type, out_type; /* pgy_dtype */
    uint32_t linear;                              /* 1: the image is linear */
} conv_last_params;

/* Do windows of a linear image lie inside it, with rows of whole vectors that begin at multiples of
 * one? Patches of vision transformers do. */
bool conv_last_is_patched(const conv_last_params *p);

/* How a convolution with few channels and an even stride reads a linear image: a block copies the
 * lines that its tile of pixels covers to shared memory. A row of a window is `taps` elements
 * there, of which the first `lead` have no weight. taps 0: the problem cannot be computed so. */
typedef struct conv_last_lines {
    uint32_t taps, lead;
    uint32_t lines, line; /* lines of a channel, and elements of one */
    uint32_t bytes;       /* of all lines */
    uint32_t k;           /* of the product */
} conv_last_lines;
conv_last_lines conv_last_lines_of(const conv_last_params *p);
/* Packs weights for them, from [n][channel][tap]; what has no weight is zero already. */
void conv_last_pack_rows(char *to, const char *from, const conv_last_params *p, uint32_t item);

/* False: the problem is no such convolution. */
bool conv_last_describe(conv_last_params *p, const kernel_problem *u, uint32_t tile);
/* The `prepare` of a row: params are conv_last_params, packed data is W as [n][tap][channel], or
 * with lines as [n][channel][row][taps]. */
pgy_status conv_last_create(kernel_plan *out, const kernel_problem *u, uint32_t tile,
                            pgy_error *err);
/* The `extent` of a row. */
bool conv_last_reach(kernel_extent *e, const kernel_claim *q, uint32_t tile);
packed_kind conv_last_kind(const conv_last_params *p);
packed_call conv_last_call(const kernel_run *r);

#endif

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

/* False: the problem is no such convolution. */
bool conv_last_describe(conv_last_params *p, const kernel_problem *u, uint32_t tile);
/* The `prepare` of a row: params are conv_last_params, packed data is W as [n][tap][channel]. */
pgy_status conv_last_create(kernel_plan *out, const kernel_problem *u, uint32_t tile,
                            pgy_error *err);
/* The `extent` of a row. */
bool conv_last_reach(kernel_extent *e, const kernel_claim *q, uint32_t tile);
packed_kind conv_last_kind(const conv_last_params *p);
packed_call conv_last_call(const kernel_run *r);

#endif

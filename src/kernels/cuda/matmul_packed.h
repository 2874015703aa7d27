/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products with packed B, for families that compute them in another way on some GPUs
 * (matmul_piped.c, boxed.c). */
#ifndef KERNELS_CUDA_MATMUL_PACKED_H
#define KERNELS_CUDA_MATMUL_PACKED_H

#include "kernels/cuda/matmul.h"
#include "kernels/cuda/packed.h"

typedef struct matmul_packed_params {
    cuda_matmul_params own;
    packed_cut cut;
} matmul_packed_params;

/* False: the problem is none with packed B. */
bool matmul_packed_describe(matmul_packed_params *p, const kernel_problem *u, uint32_t tile);
/* The `prepare` of a row: params are matmul_packed_params, packed data is B as [n][k]. */
pgy_status matmul_packed_create(kernel_plan *out, const kernel_problem *u, uint32_t tile,
                                pgy_error *err);
/* The `extent` of a row. */
bool matmul_packed_reach(kernel_extent *e, const kernel_claim *q, uint32_t tile);
packed_kind matmul_packed_kind(const matmul_packed_params *p);
packed_call matmul_packed_call(const kernel_run *r);
/* `out` becomes a packed_loaded. */
pgy_status matmul_packed_load(void **out, const matmul_packed_params *p, device *d, pgy_error *err);
pgy_status matmul_packed_enqueue(const kernel_run *r, const packed_loaded *l, device_stream *stream,
                                 pgy_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products on CUDA devices: the problem, and the kernels of our own, for families that
 * compute the same problem in another way. */
#ifndef KERNELS_CUDA_MATMUL_H
#define KERNELS_CUDA_MATMUL_H

#include "kernels/cuda/product.h"

typedef struct cuda_matmul_params {
    matmul_shape s;
    product_cut cut;
    uint32_t type; /* pgy_dtype of A and B */
    uint32_t bias_type, residual_type, out_type;
    uint32_t inputs, has_residual;
} cuda_matmul_params;

bool cuda_matmul_describe(cuda_matmul_params *p, const kernel_problem *u);
uint64_t cuda_matmul_workspace(const cuda_matmul_params *p);
uint32_t cuda_matmul_activation(const cuda_matmul_params *p); /* a conv_activation */
/* The extent, for parameters that may be any bytes. */
bool cuda_matmul_reach(kernel_extent *e, const kernel_claim *q, const cuda_matmul_params *p);
/* Loads and runs the kernels of our own. */
pgy_status cuda_matmul_load(void **out, const cuda_matmul_params *p, device *d, pgy_error *err);
pgy_status cuda_matmul_enqueue(const cuda_matmul_params *p, const cuda_loaded *l,
                               const kernel_run *r, device_stream *stream, pgy_error *err);

/* Are neighbours in memory neighbours in a column? */
static inline bool cuda_matmul_is_turned(uint64_t row, uint64_t column)
{
    return row == 1 && column != 1;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by cuBLASLt, if it is there:
 *
 *     cuda_blas_product *p = NULL;
 *     pgy_status st = cuda_blas_create(&p, d, &shape, 0, err);
 *     if (!st) st = cuda_blas_enqueue(p, stream, &operands, err);
 *
 * The library ranks its algorithms for a problem; a product uses one of them, by its rank. The same
 * version of the library ranks them in the same order on the same kind of GPU, and each gives the
 * same bits in every run.
 */
#ifndef DEVICE_CUDA_BLAS_H
#define DEVICE_CUDA_BLAS_H

#include "device/cuda.h"

typedef struct cuda_blas_product cuda_blas_product;

typedef enum cuda_blas_type { CUDA_BLAS_F32, CUDA_BLAS_F16, CUDA_BLAS_BF16 } cuda_blas_type;

/* C[batch, m, n] = alpha * A[batch, m, k] * B[batch, k, n] + residual + bias, all matrices
 * row-major; bias has a number for each column. Sums are float32. */
typedef struct cuda_blas_shape {
    cuda_blas_type type;     /* of A and B */
    cuda_blas_type out_type; /* of C, bias and residual: `type` or float32 */
    uint64_t m, n, k, batch;
    bool a_turned, b_turned;     /* stored as [k, m] or [n, k] */
    uint64_t a_stride, b_stride; /* elements from one stored row to the next */
    uint64_t a_batch, b_batch; /* elements from one product to the next; 0: all share the matrix */
    float alpha;
    bool bias, residual;
    uint64_t workspace_bytes; /* most that an algorithm may use */
} cuda_blas_shape;

typedef struct cuda_blas_operands {
    const void *a, *b, *bias, *residual; /* addresses on the device, multiples of 16 */
    void *c, *workspace;
} cuda_blas_operands;

/* The library's version, as 130100. PGY_E_NOT_FOUND: it is not there. */
pgy_status cuda_blas_version(size_t *out, pgy_error *err) PGY_MUST_CHECK;
/* PGY_E_UNSUPPORTED: the library has no algorithm of this rank for the problem. */
pgy_status cuda_blas_create(cuda_blas_product **out, device *d, const cuda_blas_shape *s,
                            uint32_t rank, pgy_error *err) PGY_MUST_CHECK;
void cuda_blas_destroy(cuda_blas_product *p);
/* Only one thread at a time may use a product. */
pgy_status cuda_blas_enqueue(cuda_blas_product *p, device_stream *s, const cuda_blas_operands *o,
                             pgy_error *err) PGY_MUST_CHECK;

#endif

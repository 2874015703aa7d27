/* SPDX-License-Identifier: Apache-2.0 */
/* What matrix products and convolutions share: the tiles of tile.cu and how k is split. */
#ifndef KERNELS_CUDA_PRODUCT_H
#define KERNELS_CUDA_PRODUCT_H

#include "kernels/conv.h"
#include "kernels/cuda/code.h"
#include "kernels/matmul.h"

/* How a product is cut into tiles, and k into parts. Plan files store it. */
typedef struct product_cut {
    uint32_t tile; /* rows and columns of C that a block computes: 64 or 128 */
    uint32_t splits;
    uint64_t split; /* elements of k in each part but the last */
} product_cut;

/* Arguments of the kernels in tile.cu: the same struct as there. */
typedef struct product_call {
    uint64_t a, b, bias, residual, c, partial;
    uint64_t m, n, k, batch;
    uint64_t a_row, a_column, b_row, b_column;
    uint64_t batch_shape[MATMUL_MAX_BATCH_RANK], a_batch[MATMUL_MAX_BATCH_RANK],
        b_batch[MATMUL_MAX_BATCH_RANK];
    uint64_t split;
    uint32_t batch_rank, splits;
    float alpha, beta, first, second;
    uint64_t channels, pixels;
    int32_t in_height, in_width, out_width, stride_y, stride_x, dilation_y, dilation_x, pad_y,
        pad_x;
} product_call;

/* Chooses the tile, and enough parts of k to keep all multiprocessors of a large GPU busy. */
product_cut product_cut_of(uint64_t m, uint64_t n, uint64_t k, uint64_t batch);
/* Bytes of workspace for the partial sums of all parts; 0 if k is not split. */
uint64_t product_workspace(const product_cut *c, uint64_t m, uint64_t n, uint64_t batch);
/* Refuses a cut from a plan file that product_cut_of cannot make. */
bool product_cut_extent(kernel_extent *e, const product_cut *c, uint64_t k);
/* Appends macros for the tile, the type of A and B, and how they are multiplied. */
void product_define(str *defines, const product_cut *c, pgy_dtype type);
/* Launches the loaded function 0 (tile), then 1 (finish), which adds the parts, if k is split. */
pgy_status product_launch(device_stream *s, const cuda_loaded *l, const product_cut *c,
                          pgy_dtype type, product_call *call, pgy_error *err);
/* The number of elements in a vector access: at most 16 bytes, and a divisor of all sizes. */
uint32_t product_vector(pgy_dtype type, const uint64_t *sizes, size_t count);

#endif

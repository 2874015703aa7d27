/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the matrix product (class_gemm*.c) share: micro-kernels, packing, and products
 * of few rows. */
#ifndef OPS_CLASS_GEMM_H
#define OPS_CLASS_GEMM_H

#include "ops/gemm.h"

enum { GEMM_MAX_MR = 8, GEMM_MAX_NR = 16, GEMM_THIN = 4 };

/* One micro-kernel computes a tile of mr x nr elements from packed panels.
 *
 * run: a holds k groups of mr elements, b k groups of nr elements (64-byte aligned). The sum over k
 * starts at zero and is then stored to, or added to, the row-major tile c. run_half computes the
 * first nr / 2 columns only.
 * dots: c[i][j] = the product of row i of a and line j of b, each k
 * contiguous doubles (dots_single: b holds floats), for up to GEMM_THIN rows and any number of
 * lines. */
typedef struct gemm_kernel {
    size_t mr, nr;
    void (*run)(size_t k, const double *a, const double *b, double *c, size_t ldc, bool accumulate);
    void (*run_half)(size_t k, const double *a, const double *b, double *c, size_t ldc,
                     bool accumulate);
    void (*dots)(size_t rows, size_t lines, size_t k, const double *a, size_t lda, const double *b,
                 size_t ldb, double *c, size_t ldc);
    void (*dots_single)(size_t rows, size_t lines, size_t k, const double *a, size_t lda,
                        const float *b, size_t ldb, double *c, size_t ldc);
} gemm_kernel;

extern const gemm_kernel gemm_kernel_portable;
#if defined(__x86_64__)
extern const gemm_kernel gemm_kernel_avx2;
extern const gemm_kernel gemm_kernel_avx512;
#endif
/* The fastest kernel that this processor supports. */
const gemm_kernel *gemm_kernel_choose(void);

/* Packs `count` lines (at most `width`, the rest zero) of k elements: to[p * width + i] = line i,
 * element p. Strides are in elements. */
void gemm_pack_lines(double *to, size_t width, size_t count, size_t k, const void *from,
                     bool is_single, int64_t line_stride, int64_t step);

#endif

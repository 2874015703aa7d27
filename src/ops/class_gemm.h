/* SPDX-License-Identifier: Apache-2.0 */
/* One micro-kernel of the matrix product: a tile of mr x nr elements from packed panels. */
#ifndef OPS_CLASS_GEMM_H
#define OPS_CLASS_GEMM_H

#include <stdbool.h>
#include <stddef.h>

enum { GEMM_MAX_MR = 8, GEMM_MAX_NR = 16 };

/* a: k groups of mr elements, b: k groups of nr elements (64-byte aligned). The sum over k starts
 * at zero and is then stored to, or added to, the row-major tile c. */
typedef struct gemm_kernel {
    size_t mr, nr;
    void (*run)(size_t k, const double *a, const double *b, double *c, size_t ldc, bool accumulate);
} gemm_kernel;

extern const gemm_kernel gemm_kernel_portable;
#if defined(__x86_64__)
extern const gemm_kernel gemm_kernel_avx2;
extern const gemm_kernel gemm_kernel_avx512;
#endif

#endif

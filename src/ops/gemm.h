/* SPDX-License-Identifier: Apache-2.0 */
/* Double-precision matrix product for the reference: blocked, packed, AVX2/AVX-512/portable,
 * threaded. Each output element is summed over k in one fixed order, so the result is the same for
 * any number of threads. */
#ifndef OPS_GEMM_H
#define OPS_GEMM_H

#include <polygraphy/base.h>

typedef struct gemm_matrix {
    const double *data;
    int64_t row_stride, col_stride; /* in elements */
} gemm_matrix;

/* c[m][n] = sum_k a[m][k] * b[k][n] (accumulate: added to c). c is row-major with stride ldc.
 * @return PGY_E_MEMORY */
pgy_status gemm_f64(size_t m, size_t n, size_t k, gemm_matrix a, gemm_matrix b, double *c,
                    size_t ldc, bool accumulate, pgy_error *err) PGY_MUST_CHECK;

#endif

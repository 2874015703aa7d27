/* SPDX-License-Identifier: Apache-2.0 */
/* Double-precision matrix product for the reference: blocked, packed and threaded, with AVX2,
 * AVX-512 and portable kernels. Each output element is summed over k in a fixed order, so the
 * result does not depend on the number of threads. */
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

/* An operand: doubles, or floats at any address, which packing converts to doubles. */
typedef struct gemm_source {
    const void *data;
    bool is_single;
    int64_t row_stride, col_stride;
} gemm_source;

/* Writes rows [step, step + steps) of b, columns [col, col + count), as to[i * width + j]; fills
 * the rest of each row of `width` with zeros. It must be thread-safe. */
typedef void (*gemm_pack)(void *user, double *to, size_t width, size_t col, size_t count,
                          size_t step, size_t steps);

typedef struct gemm_call {
    size_t m, n, k;
    gemm_source a, b;
    gemm_pack pack_b; /* generates b instead of reading it from memory; may be NULL */
    void *user;       /* passed to pack_b */
    double *c;
    size_t ldc;
    const double *row_bias; /* added to the product, one number per row; may be NULL */
    bool accumulate;
} gemm_call;

/* Converts floats at any address to doubles. */
void gemm_widen(double *to, const void *from, size_t count);

pgy_status gemm_run(const gemm_call *call, pgy_error *err) PGY_MUST_CHECK;

#endif

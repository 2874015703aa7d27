/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's matmul: the last two axes are multiplied, the others broadcast; a vector is a row on the
 * left, a column on the right. */
#ifndef OPS_CLASS_MATMUL_H
#define OPS_CLASS_MATMUL_H

#include "ops/class_check.h"
#include "ops/gemm.h"

/* Shape rule for the product of inputs a and b. */
pgy_status matmul_infer(op_infer *c, size_t a, size_t b, pgy_dtype dtype,
                        pgy_error *err) PGY_MUST_CHECK;
double matmul_flops(const op_infer *c, size_t a);

typedef struct matmul_plan {
    size_t m, n, k, batch;
    size_t rank; /* number of batch axes */
    size_t dims[PGY_MAX_RANK], a_strides[PGY_MAX_RANK], b_strides[PGY_MAX_RANK];
} matmul_plan;
void matmul_prepare(matmul_plan *p, const op_eval *c, size_t a, size_t b);
/* b holds floats if b_single. */
pgy_status matmul_run(const matmul_plan *p, const double *a, const void *b, bool b_single,
                      double *y, pgy_error *err) PGY_MUST_CHECK;
pgy_status matmul_run_f64(const matmul_plan *p, const double *a, const double *b, double *y,
                          pgy_error *err) PGY_MUST_CHECK;
/* Multiplies integers modulo 2^64, which gives the right bits for i64 and u64. */
void matmul_run_u64(const matmul_plan *p, const uint64_t *a, const uint64_t *b, uint64_t *y);
/* One product with strides in elements; y is compact row-major. */
typedef struct matmul_strides {
    size_t row, col;
} matmul_strides;
void matmul_u64(size_t m, size_t n, size_t k, const uint64_t *a, matmul_strides as,
                const uint64_t *b, matmul_strides bs, uint64_t *y);

/* The value of a code of com.microsoft:MatMulBnb4, from 0 to 15; normal: NF4, else FP4. */
float matmul_bnb4_value(int64_t code, bool normal);

#endif

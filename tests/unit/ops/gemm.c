/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_f64 against a plain triple loop, for every processor level this machine has: shapes around
 * the tile sizes, strides of both operands, accumulation, and nothing written outside c. Inputs are
 * small integers, so that every order of summation gives the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "ops/class_gemm.h"
#include "ops/gemm.h"

static double value(size_t i)
{
    return (double)((i * 2654435761u >> 7) % 17) - 8;
}

static double *filled(size_t count)
{
    double *x = mem_alloc((count ? count : 1) * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < count; i++) x[i] = value(i + count);
    return x;
}

/* One product with c inside a frame that must stay as it was. */
static void check(size_t m, size_t n, size_t k, bool a_columns, bool b_columns, bool accumulate)
{
    enum { FRAME = 3 };
    size_t ldc = n + FRAME, count = m * ldc + FRAME;
    double *a = filled(m * k), *b = filled(k * n), *c = filled(count), *wanted = filled(count);
    gemm_matrix left = {a, a_columns ? 1 : (int64_t)k, a_columns ? (int64_t)m : 1};
    gemm_matrix right = {b, b_columns ? 1 : (int64_t)n, b_columns ? (int64_t)k : 1};
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = accumulate ? wanted[i * ldc + j] : 0;
            for (size_t p = 0; p < k; p++)
                sum += a[(int64_t)i * left.row_stride + (int64_t)p * left.col_stride] *
                       b[(int64_t)p * right.row_stride + (int64_t)j * right.col_stride];
            wanted[i * ldc + j] = sum;
        }
    pgy_error err = {0};
    assert_int_equal(gemm_f64(m, n, k, left, right, c, ldc, accumulate, &err), PGY_OK);
    if (memcmp(c, wanted, count * sizeof *c) != 0)
        fail_msg("%zu x %zu x %zu, columns %d %d, accumulate %d", m, n, k, a_columns, b_columns,
                 accumulate);
    mem_free(a);
    mem_free(b);
    mem_free(c);
    mem_free(wanted);
}

static void test_gemm__shapes(void **state)
{
    (void)state;
    static const size_t SIZES[] = {0, 1, 2, 3, 4, 7, 8, 9, 12, 13, 16, 17, 31};
    size_t count = sizeof SIZES / sizeof *SIZES;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            for (size_t p = 0; p < count; p++)
                check(SIZES[i], SIZES[j], SIZES[p], i & 1, j & 1, p & 1);
}

static void test_gemm__blocks(void **state)
{
    (void)state;
    check(97, 481, 257, false, false, false);
    check(97, 481, 513, true, true, true);
    check(1025, 5, 256, false, true, false);
    check(3, 2049, 300, true, false, true);
    check(200, 1000, 40, false, false, true);
}

static void test_gemm__negative_strides(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
    double c[4];
    gemm_matrix reversed = {a + 3, -2, -1}, right = {b, 2, 1};
    assert_int_equal(gemm_f64(2, 2, 2, reversed, right, c, 2, false, NULL), PGY_OK);
    const double wanted[] = {4 * 5 + 3 * 7, 4 * 6 + 3 * 8, 2 * 5 + 1 * 7, 2 * 6 + 1 * 8};
    assert_memory_equal(c, wanted, sizeof c);
}

static void test_gemm__every_kernel(void **state)
{
    (void)state;
    const gemm_kernel *kernels[3] = {&gemm_kernel_portable};
    size_t count = 1;
#if defined(__x86_64__)
    if (cpu_features() >= CPU_AVX2) kernels[count++] = &gemm_kernel_avx2;
    if (cpu_features() >= CPU_AVX512) kernels[count++] = &gemm_kernel_avx512;
#endif
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < 40; k += 13) {
            size_t mr = kernels[i]->mr, nr = kernels[i]->nr;
            assert_true(mr <= GEMM_MAX_MR && nr <= GEMM_MAX_NR);
            double *a = filled(mr * k), *b = filled(nr * k), *c = filled(mr * nr),
                   *start = filled(mr * nr);
            for (int accumulate = 0; accumulate < 2; accumulate++) {
                memcpy(c, start, mr * nr * sizeof *c);
                kernels[i]->run(k, a, b, c, nr, accumulate);
                for (size_t at = 0; at < mr * nr; at++) {
                    double sum = accumulate ? start[at] : 0;
                    for (size_t p = 0; p < k; p++) sum += a[p * mr + at / nr] * b[p * nr + at % nr];
                    assert_true(c[at] == sum);
                }
            }
            mem_free(a);
            mem_free(b);
            mem_free(c);
            mem_free(start);
        }
}

/* The result must not depend on how the columns are cut into products. */
static void test_gemm__independent_of_cuts(void **state)
{
    (void)state;
    enum { M = 50, N = 70, K = 600 };
    double *a = filled(M * K), *b = filled(K * N), *whole = filled(M * N), *parts = filled(M * N);
    for (size_t i = 0; i < M * K; i++) a[i] = 1 / (a[i] + 9.5);
    for (size_t i = 0; i < K * N; i++) b[i] = 1 / (b[i] + 9.3);
    gemm_matrix left = {a, K, 1}, right = {b, N, 1};
    assert_int_equal(gemm_f64(M, N, K, left, right, whole, N, false, NULL), PGY_OK);
    for (size_t column = 0; column < N; column += 11) {
        gemm_matrix piece = {b + column, N, 1};
        size_t n = N - column < 11 ? N - column : 11;
        assert_int_equal(gemm_f64(M, n, K, left, piece, parts + column, N, false, NULL), PGY_OK);
    }
    assert_memory_equal(whole, parts, M * N * sizeof *whole);
    mem_free(a);
    mem_free(b);
    mem_free(whole);
    mem_free(parts);
}

static void pack_from_columns(void *user, double *to, size_t width, size_t col, size_t count,
                              size_t step, size_t steps)
{
    enum { K = 300 };
    const double *columns = user; /* one column of K elements after the other */
    memset(to, 0, steps * width * sizeof *to);
    for (size_t p = 0; p < steps; p++)
        for (size_t i = 0; i < count; i++) to[p * width + i] = columns[(col + i) * K + step + p];
}

/* Floats for doubles, a bias per row and columns made on the fly give what doubles, a start value
 * and columns in memory give. */
static void test_gemm__sources(void **state)
{
    (void)state;
    enum { K = 300 };
    static const size_t SIZES[][2] = {{1, 40}, {3, 70}, {20, 33}, {110, 200}, {200, 9}};
    for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++) {
        const size_t m = SIZES[s][0], n = SIZES[s][1];
        double *a = filled(m * K), *b = filled(n * K), *bias = filled(m);
        double *c = filled(m * n), *wanted = filled(m * n);
        float *narrow_a = mem_alloc(m * K * sizeof(float)),
              *narrow_b = mem_alloc(n * K * sizeof(float));
        for (size_t i = 0; i < m * K; i++) narrow_a[i] = (float)a[i];
        for (size_t i = 0; i < n * K; i++) narrow_b[i] = (float)b[i];
        for (size_t i = 0; i < m * n; i++) wanted[i] = bias[i / n];
        assert_int_equal(gemm_f64(m, n, K, (gemm_matrix){a, K, 1}, (gemm_matrix){b, 1, K}, wanted,
                                  n, true, NULL),
                         PGY_OK);
        gemm_call call = {.m = m, .n = n, .k = K, .c = c, .ldc = n, .row_bias = bias};
        call.a = (gemm_source){narrow_a, true, K, 1};
        call.b = (gemm_source){narrow_b, true, 1, K};
        assert_int_equal(gemm_run(&call, NULL), PGY_OK);
        assert_memory_equal(c, wanted, m * n * sizeof *c);
        memset(c, 0, m * n * sizeof *c);
        call.pack_b = pack_from_columns;
        call.user = b;
        assert_int_equal(gemm_run(&call, NULL), PGY_OK);
        assert_memory_equal(c, wanted, m * n * sizeof *c);
        for (size_t i = 0; i < m * n; i++) wanted[i] -= bias[i / n];
        call.pack_b = NULL;
        call.row_bias = NULL;
        call.a = (gemm_source){a, false, K, 1};
        assert_int_equal(gemm_run(&call, NULL), PGY_OK);
        assert_memory_equal(c, wanted, m * n * sizeof *c);
        mem_free(a);
        mem_free(b);
        mem_free(bias);
        mem_free(c);
        mem_free(wanted);
        mem_free(narrow_a);
        mem_free(narrow_b);
    }
}

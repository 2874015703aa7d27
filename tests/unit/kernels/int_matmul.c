/* SPDX-License-Identifier: Apache-2.0 */
/* Products of byte matrices of all variants against the reference, bit by bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/int_case.h"

enum { CONSTANT = 1, SIGNED_A = 2, SIGNED_B = 4, ZEROS = 8, EACH = 16, FORMS = 32 };

static pgy_dtype byte(bool is_signed)
{
    return is_signed ? PGY_I8 : PGY_U8;
}

static void operand(int_case *c, bool is_signed, bool constant, int32_t rank, const int64_t *shape)
{
    int_case_input(c, byte(is_signed), constant, rank, shape);
}

/* ---- MatMulInteger -------------------------------------------------------------------------- */

static void run_integer(int64_t m, int64_t k, int64_t n, int form)
{
    int_case c;
    int_case_start(&c, "", "MatMulInteger", 10);
    operand(&c, form & SIGNED_A, false, 2, (const int64_t[]){m, k});
    operand(&c, form & SIGNED_B, form & CONSTANT, 2, (const int64_t[]){k, n});
    if (form & ZEROS) {
        operand(&c, form & SIGNED_A, false, form & EACH ? 1 : 0, &m);
        operand(&c, form & SIGNED_B, false, form & EACH ? 1 : 0, &n);
    }
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_int_matmul__sizes_around_the_tiles(void **state)
{
    (void)state;
    static const int64_t SIZES[] = {1, 3, 4, 7, 8, 9, 15, 17, 33, 48, 50};
    for (size_t i = 0; i < 11; i++)
        for (size_t j = 0; j < 11; j++)
            run_integer(SIZES[i], SIZES[(i + j) % 11], SIZES[j], (int)(i * 11 + j) % FORMS);
}

static void test_int_matmul__all_forms(void **state)
{
    (void)state;
    for (int form = 0; form < FORMS; form++) {
        run_integer(70, 36, 101, form);
        run_integer(13, 130, 97, form);
        run_integer(1, 257, 49, form);
    }
}

static void run_batches(const int64_t *a, int32_t a_rank, const int64_t *b, int32_t b_rank,
                        int form)
{
    int_case c;
    int_case_start(&c, "", "MatMulInteger", 10);
    operand(&c, form & SIGNED_A, false, a_rank, a);
    operand(&c, form & SIGNED_B, form & CONSTANT, b_rank, b);
    if (form & ZEROS) {
        operand(&c, form & SIGNED_A, false, 0, NULL);
        operand(&c, form & SIGNED_B, true, 0, NULL);
    }
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_int_matmul__batches(void **state)
{
    (void)state;
    for (int form = 0; form < EACH; form++) {
        run_batches((const int64_t[]){2, 1, 5, 8}, 4, (const int64_t[]){3, 8, 6}, 3, form);
        run_batches((const int64_t[]){3, 5, 7}, 3, (const int64_t[]){7, 20}, 2, form);
        run_batches((const int64_t[]){3, 5, 8}, 3, (const int64_t[]){3, 8, 9}, 3, form);
        run_batches((const int64_t[]){5, 8}, 2, (const int64_t[]){3, 8, 9}, 3, form);
        run_batches((const int64_t[]){8}, 1, (const int64_t[]){8, 9}, 2, form);
        run_batches((const int64_t[]){4, 8}, 2, (const int64_t[]){8}, 1, form);
    }
}

/* ---- To bytes ------------------------------------------------------------------------------- */

static void run_qlinear(int64_t m, int64_t k, int64_t n, int form)
{
    int_case c;
    const pgy_dtype a = byte(form & SIGNED_A), b = byte(form & SIGNED_B);
    int_case_start(&c, "", "QLinearMatMul", 10);
    operand(&c, form & SIGNED_A, false, 2, (const int64_t[]){m, k});
    int_case_scalar(&c, PGY_F32, 0.02);
    int_case_scalar(&c, a, form & ZEROS ? 9 : 0);
    operand(&c, form & SIGNED_B, form & CONSTANT, 2, (const int64_t[]){k, n});
    int_case_scales(&c, form & EACH ? n : 1, 0.01);
    if (form & EACH)
        int_case_input(&c, b, true, 1, &n);
    else
        int_case_scalar(&c, b, form & ZEROS ? 17 : 0);
    int_case_scalar(&c, PGY_F32, 0.7);
    int_case_scalar(&c, a, 33);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_int_matmul__to_bytes(void **state)
{
    (void)state;
    for (int form = 0; form < FORMS; form++) {
        run_qlinear(17, 40, 61, form);
        run_qlinear(9, 33, 47, form);
    }
}

static void run_gemm(int form, bool turn_a, bool turn_b, bool bytes, bool bias)
{
    enum { M = 19, K = 27, N = 37 };
    int_case c;
    const int64_t n = N;
    double values[N];
    int_case_start(&c, "com.microsoft", "QGemm", 1);
    case_attr_int(&c.c, "transA", turn_a);
    case_attr_int(&c.c, "transB", turn_b);
    case_attr_float(&c.c, "alpha", 0.5f);
    operand(&c, form & SIGNED_A, false, 2, (const int64_t[]){turn_a ? K : M, turn_a ? M : K});
    int_case_scalar(&c, PGY_F32, 0.02);
    int_case_scalar(&c, byte(form & SIGNED_A), 9);
    operand(&c, form & SIGNED_B, form & CONSTANT, 2,
            (const int64_t[]){turn_b ? N : K, turn_b ? K : N});
    int_case_scales(&c, form & EACH ? N : 1, 0.01);
    int_case_scalar(&c, byte(form & SIGNED_B), form & ZEROS ? 17 : 0);
    for (int i = 0; i < N; i++) values[i] = i * 977 % 4001 - 2000;
    if (bias)
        int_case_values(&c, PGY_I32, 1, &n, values);
    else
        int_case_input(&c, PGY_I32, true, -1, NULL);
    if (bytes) int_case_scalar(&c, PGY_F32, 0.3);
    if (bytes) int_case_scalar(&c, byte(form & SIGNED_A), 5);
    assert_true(int_case_run(&c, 1, bytes ? 0 : 1e-6) > 0);
    int_case_end(&c);
}

static void test_int_matmul__gemm(void **state)
{
    (void)state;
    for (int form = 0; form < FORMS; form++)
        for (int turns = 0; turns < 4; turns++)
            run_gemm(form, turns & 1, turns >> 1, form & 1, form & 2 || turns == 1);
}

/* ---- To floats ------------------------------------------------------------------------------ */

static void run_floats(int form, bool bias)
{
    enum { M = 19, K = 28, N = 37 };
    int_case c;
    const int64_t n = N;
    int_case_start(&c, "com.microsoft", "MatMulIntegerToFloat", 1);
    operand(&c, form & SIGNED_A, false, 3, (const int64_t[]){2, M, K});
    operand(&c, form & SIGNED_B, form & CONSTANT, 2, (const int64_t[]){K, N});
    int_case_input(&c, PGY_F32, false, 0, NULL);
    int_case_scales(&c, form & EACH ? N : 1, 0.01);
    operand(&c, form & SIGNED_A, false, form & ZEROS ? 0 : -1, NULL);
    operand(&c, form & SIGNED_B, false, form & ZEROS ? 1 : -1, &n);
    int_case_input(&c, PGY_F32, false, bias ? 1 : -1, &n);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_int_matmul__to_floats(void **state)
{
    (void)state;
    for (int form = 0; form < FORMS; form++) run_floats(form, form & 1);
}

static void run_dynamic(int form, const int64_t *a, int32_t rank)
{
    enum { N = 37 };
    int_case c;
    const int64_t n = N;
    int_case_start(&c, "com.microsoft", "DynamicQuantizeMatMul", 1);
    int_case_input(&c, PGY_F32, false, rank, a);
    operand(&c, form & SIGNED_B, form & CONSTANT, 2, (const int64_t[]){a[rank - 1], N});
    int_case_scales(&c, form & EACH ? N : 1, 0.01);
    operand(&c, form & SIGNED_B, false, form & ZEROS ? 0 : -1, NULL);
    int_case_input(&c, PGY_F32, false, form & SIGNED_A ? 1 : -1, &n);
    assert_true(int_case_run(&c, 1, 0) > 0);
    int_case_end(&c);
}

static void test_int_matmul__floats_quantised_on_the_way(void **state)
{
    (void)state;
    for (int form = 0; form < FORMS; form++) {
        run_dynamic(form, (const int64_t[]){2, 9, 30}, 3);
        run_dynamic(form, (const int64_t[]){1, 64}, 2);
        run_dynamic(form, (const int64_t[]){90, 13}, 2);
    }
}

static void run_fused(int form, const char *activation)
{
    enum { M = 19, K = 28, N = 37 };
    int_case c;
    const int64_t n = N;
    int_case_start(&c, "pgy", "QuantizedMatMul", 1);
    if (activation) case_attr_text(&c.c, "activation", activation);
    operand(&c, form & SIGNED_A, false, 3, (const int64_t[]){2, M, K});
    int_case_scalar(&c, PGY_F32, 0.02);
    int_case_scalar(&c, byte(form & SIGNED_A), 9);
    operand(&c, form & SIGNED_B, form & CONSTANT, 2, (const int64_t[]){K, N});
    int_case_scales(&c, form & EACH ? N : 1, 0.01);
    int_case_scalar(&c, byte(form & SIGNED_B), form & ZEROS ? 17 : 0);
    int_case_input(&c, PGY_F32, false, form & EACH ? 1 : -1, &n);
    int_case_input(&c, PGY_F32, false, form & ZEROS ? 3 : -1, (const int64_t[]){2, M, N});
    assert_true(int_case_run(&c, 1, 1e-6) > 0);
    int_case_end(&c);
}

static void test_int_matmul__bias_residual_and_relu(void **state)
{
    (void)state;
    for (int form = 0; form < FORMS; form++) {
        run_fused(form, NULL);
        run_fused(form, "Relu");
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Products whose constant B stays in 16-bit floats: below the wrapper against the reference, and by
 * themselves with float32 around them against float64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/extent_check.h"
#include "harness/reference_case.h"
#include "tensor/convert.h"

static const pgy_dtype TYPES[] = {PGY_F16, PGY_BF16};
static const double TOLERANCE[] = {0x1.02p-11, 0x1.02p-8};

static void test_matmul_half__shapes(void **state)
{
    (void)state;
    static const char *const SHAPES[][2] = {
        {"1 1", "1 1"},       {"1 7", "7 5"},       {"1 769", "769 65"}, {"3 129", "129 32"},
        {"12 128", "128 33"}, {"13 127", "127 31"}, {"2 5 40", "40 70"}, {"2 3 4 9", "3 9 17"},
        {"145 30", "30 300"}, {"9", "9 11"},        {"4 9", "9"},        {"2 1100", "1100 40"},
        {"20 1100", "1100 8"}};
    for (size_t t = 0; t < 2; t++)
        for (size_t s = 0; s < sizeof SHAPES / sizeof *SHAPES; s++) {
            reference_case c;
            reference_start(&c, "", "MatMul", 13);
            reference_input(&c, TYPES[t], SHAPES[s][0]);
            reference_input(&c, TYPES[t], SHAPES[s][1]);
            reference_constant(&c);
            /* Each level twice: B in 16 bits and in float32; and once more each for one column and
             * for one row of B. */
            const char *b = SHAPES[s][1], *last = strrchr(b, ' ');
            const size_t kinds =
                2 + (!last || strcmp(last, " 1") == 0) + (last && strncmp(b, "1 ", 2) == 0);
            assert_int_equal(reference_run(&c, 1, TOLERANCE[t]),
                             kinds * (1 + (size_t)cpu_features()));
        }
}

static void test_matmul_half__gemm(void **state)
{
    (void)state;
    static const char *const A[] = {"5 33", "33 5"}, *const B[] = {"33 40", "40 33"};
    static const char *const BIAS[] = {"40", "5 1", "", "5 40"};
    for (size_t t = 0; t < 2; t++)
        for (int turn = 0; turn < 4; turn++)
            for (int bias = 0; bias < 8; bias++) {
                reference_case c;
                reference_start(&c, "", "Gemm", 13);
                reference_attr_int(&c, "transA", turn & 1);
                reference_attr_int(&c, "transB", turn >> 1);
                reference_attr_float(&c, "alpha", 0.5f);
                reference_attr_float(&c, "beta", 1.5f);
                reference_input(&c, TYPES[t], A[turn & 1]);
                reference_input(&c, TYPES[t], B[turn >> 1]);
                reference_constant(&c);
                reference_input(&c, TYPES[t], BIAS[bias & 3]);
                if (bias & 4) reference_constant(&c);
                assert_true(reference_run(&c, 1, TOLERANCE[t]) > 1);
            }
}

/* What 16-bit floats hold: small integers, so that sums are exact. */
static void run_weights_only(const kernel *k, pgy_dtype type, int64_t m, int64_t depth, int64_t n)
{
    const int64_t a_shape[] = {m, depth}, b_shape[] = {depth, n}, c_shape[] = {m, n};
    const size_t a_count = (size_t)(m * depth), b_count = (size_t)(depth * n);
    const size_t c_count = (size_t)(m * n);
    float *a = mem_alloc(a_count * sizeof *a), *c = mem_alloc((c_count + 16) * sizeof *c);
    uint16_t *b = mem_alloc(b_count * sizeof *b);
    for (size_t i = 0; i < a_count; i++) a[i] = (float)(int)(i * 7 % 11) - 5;
    for (size_t i = 0; i < b_count; i++) {
        const double v = (double)(i * 5 % 13) - 6;
        b[i] = type == PGY_F16 ? f16_from_f64(v) : bf16_from_f64(v);
    }
    const op_node node = {
        .def = op_find("", "MatMul", 13), .name = "n", .opset = 13, .input_count = 2};
    kernel_problem problem = {.node = &node, .input_count = 2, .output_count = 1};
    problem.inputs[0] = (kernel_tensor){.dtype = PGY_F32, .rank = 2, .shape = a_shape};
    problem.inputs[1] = (kernel_tensor){.dtype = type, .rank = 2, .shape = b_shape, .data = b};
    problem.outputs[0] = (kernel_tensor){.dtype = PGY_F32, .rank = 2, .shape = c_shape};
    double cost;
    kernel_plan plan = {0};
    void *tensors[] = {a, NULL, c};
    assert_true(kernel_accept(k, &problem, &cost));
    assert_int_equal(k->prepare(&plan, &problem, NULL), PGY_OK);
    assert_int_equal(plan.packed_inputs, 2);
    for (size_t i = 0; i < c_count + 16; i++) c[i] = 12345;
    kernel_run_alone(k, &plan, tensors, 3);
    extent_check(k, &plan, &problem, tensors);
    for (size_t i = 0; i < c_count; i++) {
        double sum = 0;
        for (size_t p = 0; p < (size_t)depth; p++) {
            const double wide = (double)((p * (size_t)n + i % (size_t)n) * 5 % 13) - 6;
            sum += (double)a[i / (size_t)n * (size_t)depth + p] * wide;
        }
        if ((double)c[i] != sum) fail_msg("%s: element %zu", k->name, i);
    }
    for (size_t i = c_count; i < c_count + 16; i++) assert_true(c[i] == 12345);
    kernel_plan_deinit(&plan);
    mem_free(a);
    mem_free(b);
    mem_free(c);
}

static void test_matmul_half__float32_around_it(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"matmul_half_portable", "matmul_half_avx2",
                                        "matmul_half_avx512"};
    for (size_t i = 0; i <= (size_t)cpu_features() && i < 3; i++) {
        const kernel *k = kernel_find(NAMES[i], 1);
        assert_non_null(k);
        for (size_t t = 0; t < 2; t++) {
            run_weights_only(k, TYPES[t], 1, 300, 65);
            run_weights_only(k, TYPES[t], 14, 31, 33);
            run_weights_only(k, TYPES[t], 150, 40, 270);
        }
    }
}

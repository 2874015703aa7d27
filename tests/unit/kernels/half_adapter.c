/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of float32 wrapped for 16-bit floats, against the reference: each family that is cut into
 * chunks or converted as a whole, odd sizes, mixed types, layouts, special values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "harness/reference_case.h"
#include "kernels/extent.h"
#include "kernels/half_adapter.h"
#include "tensor/convert.h"

static const pgy_dtype TYPES[] = {PGY_F16, PGY_BF16};
/* One rounding, and the float32 error that may tip it over. */
static const double TOLERANCE[] = {0x1.02p-11, 0x1.02p-8};

enum { BOTH = 2 };

static uint16_t half_of(pgy_dtype t, double v)
{
    return t == PGY_F16 ? f16_from_f64(v) : bf16_from_f64(v);
}

/* ---- The table --------------------------------------------------------------------------------
 */

static void test_half_adapter__every_kernel_is_found_again(void **state)
{
    (void)state;
    static const char *const OPS[] = {
        "Conv",   "MatMul",  "Relu", "Softmax",        "MaxPool",   "Concat", "Transpose",
        "Gather", "Resize",  "TopK", "CumSum",         "ReduceSum", "Pad",    "Gemm",
        "Where",  "Sigmoid", "Add",  "ArgMax",         "Clip",      "Pow",    "Split",
        "Expand", "Slice",   "Tile", "LpNormalization"};
    size_t wrapped = 0;
    for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++)
        for (size_t k = 0;; k++) {
            const kernel *one = kernel_for("", OPS[i], k);
            if (!one) break;
            assert_ptr_equal(kernel_find(one->name, one->version), one);
            if (strncmp(one->name, "half:", 5)) continue;
            wrapped++;
            assert_null(kernel_find(one->name, (uint16_t)(one->version + 1)));
        }
    assert_true(wrapped > 30);
}

static void test_half_adapter__float32_is_left_to_the_kernel_itself(void **state)
{
    (void)state;
    const int64_t shape[] = {3, 5};
    op_node node = {.def = op_find("", "Relu", 14), .name = "n", .opset = 14};
    kernel_problem problem = {.node = &node, .input_count = 1, .output_count = 1};
    problem.inputs[0] = problem.outputs[0] =
        (kernel_tensor){.dtype = PGY_F32, .rank = 2, .shape = shape};
    size_t count = 0;
    for (size_t i = 0;; i++) {
        const kernel *k = kernel_for("", "Relu", i);
        double cost;
        kernel_problem one = problem;
        if (!k) break;
        count++;
        if (kernel_accept(k, &one, &cost)) assert_int_not_equal(strncmp(k->name, "half:", 5), 0);
    }
    assert_true(count > 1);
}

/* What it widens lies in front of the workspace of the kernel that it wraps. */
static void test_half_adapter__memory_that_overlaps_is_refused(void **state)
{
    (void)state;
    const int64_t shape[] = {3, 5};
    op_node node = {.def = op_find("", "Softmax", 13), .name = "n", .opset = 13};
    kernel_problem problem = {.node = &node, .input_count = 1, .output_count = 1};
    problem.inputs[0] = problem.outputs[0] =
        (kernel_tensor){.dtype = PGY_F16, .rank = 2, .shape = shape};
    size_t refused = 0;
    for (size_t i = 0;; i++) {
        const kernel *k = kernel_for("", "Softmax", i);
        double cost;
        kernel_problem one = problem;
        kernel_plan plan = {0};
        kernel_extent e;
        if (!k) break;
        if (strncmp(k->name, "half:", 5) || !kernel_accept(k, &one, &cost)) continue;
        assert_int_equal(k->prepare(&plan, &one, NULL), PGY_OK);
        half_adapter_params *p = (half_adapter_params *)plan.params;
        const kernel_claim claim = {.params = p,
                                    .params_bytes = plan.params_bytes,
                                    .present = 3,
                                    .input_count = 1,
                                    .output_count = 1};
        assert_true(kernel_extent_of(&e, k, &claim));
        assert_true(p->inner_memory > 0);
        p->inner_memory -= 64;
        assert_false(kernel_extent_of(&e, k, &claim));
        p->inner_memory += 64;
        p->tensors[1].at = p->tensors[0].at;
        assert_false(kernel_extent_of(&e, k, &claim));
        kernel_plan_deinit(&plan);
        refused++;
    }
    assert_true(refused > 0);
}

/* ---- Elementwise ------------------------------------------------------------------------------
 */

static const char *const SHAPES[] = {"", "1", "0", "3", "17", "4 65", "2 3 5 7", "5000", "3 4097"};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

static void test_half_adapter__one_operand(void **state)
{
    (void)state;
    static const char *const OPS[] = {"Relu", "Sigmoid", "Erf", "Neg", "Clip",
                                      "Gelu", "IsNaN",   "Exp", "Abs", "LeakyRelu"};
    for (size_t t = 0; t < BOTH; t++)
        for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++)
            for (size_t s = 0; s < SHAPE_COUNT; s++) {
                reference_case c;
                reference_start(&c, "", OPS[i], 26);
                reference_input(&c, TYPES[t], SHAPES[s]);
                assert_true(reference_run(&c, 1, TOLERANCE[t]) > 0);
            }
}

static void test_half_adapter__special_values(void **state)
{
    (void)state;
    static const char *const OPS[] = {"Relu", "Neg", "Abs", "Sigmoid", "Clip", "Exp", "IsInf"};
    for (size_t t = 0; t < BOTH; t++)
        for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++) {
            reference_case c;
            reference_start(&c, "", OPS[i], 26);
            uint16_t *x = reference_input(&c, TYPES[t], "37");
            x[0] = half_of(TYPES[t], (double)INFINITY);
            x[5] = half_of(TYPES[t], (double)-INFINITY);
            x[16] = half_of(TYPES[t], (double)NAN);
            x[17] = 1; /* the smallest denormal */
            x[31] = 0x8001;
            x[32] = 0x8000;
            x[33] = half_of(TYPES[t], 65504);
            assert_true(reference_run(&c, 1, TOLERANCE[t]) > 0);
        }
}

static void test_half_adapter__sums_that_overflow_are_infinite(void **state)
{
    (void)state;
    reference_case c;
    reference_start(&c, "", "Add", 14);
    uint16_t *a = reference_input(&c, PGY_F16, "40"), *b = reference_input(&c, PGY_F16, "40");
    a[0] = b[0] = 0x7bff; /* 65504 */
    a[39] = b[39] = 0xfbff;
    a[20] = 0x7bff;
    b[20] = f16_from_f64(15.99);
    a[21] = 0x7bff;
    b[21] = f16_from_f64(16);
    a[22] = 1;
    b[22] = 1;
    assert_true(reference_run(&c, 1, TOLERANCE[0]) > 0);
}

static void test_half_adapter__two_operands_broadcast(void **state)
{
    (void)state;
    static const char *const PAIRS[][2] = {{"", ""},
                                           {"5", ""},
                                           {"", "5"},
                                           {"300", "300"},
                                           {"3 65", "65"},
                                           {"3 65", "3 1"},
                                           {"1 65", "3 1"},
                                           {"2 3 4 5", "3 1 1"},
                                           {"2 1 4 1", "3 1 5"},
                                           {"2 3 4 5", "2 3 4 5"},
                                           {"0 3", "1 3"},
                                           {"4 9000", "9000"},
                                           {"1 12 65 65", "1 1 1 65"},
                                           {"1 12 65 65", "1 1 65 65"},
                                           {"2 3 1 5 1 2", "1 3 4 1 2 2"}};
    static const char *const OPS[] = {"Add", "Sub", "Mul", "Div", "Less", "Max"};
    for (size_t t = 0; t < BOTH; t++)
        for (size_t p = 0; p < sizeof PAIRS / sizeof *PAIRS; p++)
            for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++)
                for (int constant = 0; constant < 2; constant++) {
                    reference_case c;
                    reference_start(&c, "", OPS[i], 26);
                    reference_input(&c, TYPES[t], PAIRS[p][0]);
                    reference_input(&c, TYPES[t], PAIRS[p][1]);
                    if (constant) reference_constant(&c);
                    assert_true(reference_run(&c, 1, TOLERANCE[t]) > 0);
                }
}

static void test_half_adapter__constant_limits_and_exponents(void **state)
{
    (void)state;
    for (size_t t = 0; t < BOTH; t++) {
        reference_case c;
        reference_start(&c, "", "Clip", 13);
        reference_input(&c, TYPES[t], "3 77");
        *(uint16_t *)reference_input(&c, TYPES[t], "") = half_of(TYPES[t], -1);
        reference_constant(&c);
        *(uint16_t *)reference_input(&c, TYPES[t], "") = half_of(TYPES[t], 2.5);
        reference_constant(&c);
        assert_true(reference_run(&c, 1, 0) > 0);
        reference_start(&c, "", "Pow", 15);
        reference_input(&c, TYPES[t], "3 77");
        *(uint16_t *)reference_input(&c, TYPES[t], "") = half_of(TYPES[t], 2);
        reference_constant(&c);
        assert_true(reference_run(&c, 1, TOLERANCE[t]) > 0);
    }
}

static void test_half_adapter__several_operands(void **state)
{
    (void)state;
    static const char *const SHAPE[] = {"3 1 40", "5 1", "40", "3 5 40"};
    for (size_t t = 0; t < BOTH; t++)
        for (int count = 1; count < 5; count++) {
            reference_case c;
            reference_start(&c, "", "Mean", 13);
            for (int k = 0; k < count; k++) reference_input(&c, TYPES[t], SHAPE[k]);
            assert_true(reference_run(&c, 1, TOLERANCE[t]) > 0);
        }
}

static void test_half_adapter__blocked_tensors(void **state)
{
    (void)state;
    static const char *const SHAPE[] = {"1 16 3 5", "2 32 7 7", "3 19 4 3", "1 64 30 30"};
    static const char *const SPOT[] = {"1 16 1 1", "2 32 1 1", "3 19 1 1", "1 64 1 1"};
    static const kernel_layout LAYOUTS[] = {KERNEL_BLOCKED_8, KERNEL_BLOCKED_16};
    for (size_t t = 0; t < BOTH; t++)
        for (size_t l = 0; l < 2; l++)
            for (size_t s = 0; s < 4; s++)
                for (int kind = 0; kind < 6; kind++) {
                    static const char *const OPS[] = {"Sigmoid", "Add",     "Mul",
                                                      "Mul",     "MaxPool", "GlobalAveragePool"};
                    static const int64_t WINDOW[] = {3, 2};
                    reference_case c;
                    reference_start(&c, "", OPS[kind], 24);
                    if (kind == 4) reference_attr_ints(&c, "kernel_shape", WINDOW, 2);
                    reference_input(&c, TYPES[t], SHAPE[s]);
                    if (kind == 1) reference_input(&c, TYPES[t], SHAPE[s]);
                    if (kind == 2 || kind == 3) reference_input(&c, TYPES[t], SPOT[s]);
                    if (kind == 3) reference_constant(&c);
                    assert_true(reference_run_layout(&c, 1, LAYOUTS[l], TOLERANCE[t]) > 0);
                }
}

/* ---- Rows -------------------------------------------------------------------------------------
 */

static void test_half_adapter__softmax(void **state)
{
    (void)state;
    static const char *const SHAPE[] = {"7", "3 1", "12 65 65", "2 3 5000", "1 1000"};
    for (size_t t = 0; t < BOTH; t++)
        for (size_t s = 0; s < 5; s++)
            for (int64_t axis = -1; axis < 1; axis++) {
                reference_case c;
                reference_start(&c, "", "Softmax", 13);
                reference_attr_int(&c, "axis", axis);
                reference_input(&c, TYPES[t], SHAPE[s]);
                assert_true(reference_run(&c, 1, TOLERANCE[t]) > 0);
            }
}

static void test_half_adapter__normalization(void **state)
{
    (void)state;
    for (size_t t = 0; t < BOTH; t++)
        for (int constant = 0; constant < 2; constant++) {
            reference_case c;
            reference_start(&c, "", "LayerNormalization", 17);
            reference_input(&c, TYPES[t], "2 13 769");
            for (int i = 0; i < 2; i++) {
                reference_input(&c, TYPES[t], "769");
                if (constant) reference_constant(&c);
            }
            assert_true(reference_run(&c, 1, TOLERANCE[t]) > 0);
            reference_start(&c, "com.microsoft", "SkipLayerNormalization", 1);
            reference_input(&c, TYPES[t], "2 13 769");
            reference_input(&c, TYPES[t], "2 13 769");
            for (int i = 0; i < 3; i++) {
                reference_input(&c, TYPES[t], "769");
                if (constant) reference_constant(&c);
            }
            assert_true(reference_run(&c, 1, TOLERANCE[t]) > 0);
            reference_start(&c, "", "BatchNormalization", 15);
            reference_input(&c, TYPES[t], "2 19 5 7");
            for (int i = 0; i < 4; i++) {
                uint16_t *v = reference_input(&c, TYPES[t], "19");
                for (size_t k = 0; i == 3 && k < 19; k++) v[k] &= 0x7fff;
                if (constant) reference_constant(&c);
            }
            assert_true(reference_run(&c, 1, TOLERANCE[t] * 2) > 0);
        }
}

/* ---- As a whole -------------------------------------------------------------------------------
 */

static void test_half_adapter__convolution(void **state)
{
    (void)state;
    static const char *const X[] = {"1 3 9 11", "2 19 8 8", "1 32 7 5", "1 16 12 12"};
    static const char *const W[] = {"17 3 3 3", "19 1 3 3", "33 32 1 1", "16 16 3 3"};
    for (size_t t = 0; t < BOTH; t++)
        for (size_t s = 0; s < 4; s++) {
            reference_case c;
            reference_start(&c, "", "Conv", 22);
            if (s == 1) reference_attr_int(&c, "group", 19);
            reference_input(&c, TYPES[t], X[s]);
            reference_input(&c, TYPES[t], W[s]);
            reference_constant(&c);
            assert_true(reference_run(&c, 1, TOLERANCE[t]) > 0);
        }
}

static void test_half_adapter__reductions_moves_and_searches(void **state)
{
    (void)state;
    static const int64_t AXES[] = {1}, PADS[] = {1, 0, 2, 0, 1, 0}, K[] = {3};
    for (size_t t = 0; t < BOTH; t++) {
        reference_case c;
        reference_start(&c, "", "ReduceMean", 18);
        reference_input(&c, TYPES[t], "3 65 7");
        reference_ints(&c, AXES, 1);
        assert_true(reference_run(&c, 1, TOLERANCE[t]) > 0);
        reference_start(&c, "", "TopK", 24);
        reference_input(&c, TYPES[t], "3 65");
        reference_ints(&c, K, 1);
        assert_true(reference_run(&c, 2, 0) > 0);
        reference_start(&c, "", "Pad", 13);
        reference_input(&c, TYPES[t], "3 5 7");
        reference_ints(&c, PADS, 6);
        assert_true(reference_run(&c, 1, 0) > 0);
        reference_start(&c, "", "Transpose", 13);
        reference_input(&c, TYPES[t], "3 5 7");
        assert_true(reference_run(&c, 1, 0) > 0);
        reference_start(&c, "", "Concat", 13);
        reference_attr_int(&c, "axis", 1);
        reference_input(&c, TYPES[t], "3 5 7");
        reference_input(&c, TYPES[t], "3 2 7");
        assert_true(reference_run(&c, 1, 0) > 0);
    }
}

static void test_half_adapter__chains_of_elementwise_operators(void **state)
{
    (void)state;
    static const char *const OPERANDS[][2] = {
        {"2 5 300", "300"}, {"4 90 7", "90 1"}, {"2 16 9 9", "16 1 1"}, {"3 4099", "3 4099"}};
    for (size_t t = 0; t < BOTH; t++)
        for (size_t s = 0; s < 4; s++) {
            reference_case c;
            reference_start(&c, "pgy", "Elementwise", 1);
            reference_attr_text(&c, "program", "Add x0 x1; Sigmoid t0; Mul t1 x0");
            reference_input(&c, TYPES[t], OPERANDS[s][0]);
            reference_input(&c, TYPES[t], OPERANDS[s][1]);
            assert_true(reference_run(&c, 1, TOLERANCE[t]) > 0);
        }
}

static void test_half_adapter__blocked_tensors_are_joined(void **state)
{
    (void)state;
    static const kernel_layout LAYOUTS[] = {KERNEL_BLOCKED_8, KERNEL_BLOCKED_16};
    for (size_t t = 0; t < BOTH; t++)
        for (size_t l = 0; l < 2; l++) {
            reference_case c;
            reference_start(&c, "", "Concat", 13);
            reference_attr_int(&c, "axis", 1);
            reference_input(&c, TYPES[t], "2 16 3 5");
            reference_input(&c, TYPES[t], "2 19 3 5");
            assert_true(reference_run_layout(&c, 1, LAYOUTS[l], 0) > 1);
        }
}

static void test_half_adapter__recurrent_layers(void **state)
{
    (void)state;
    reference_case c;
    reference_start(&c, "", "LSTM", 14);
    reference_attr_int(&c, "hidden_size", 9);
    reference_input(&c, PGY_F16, "5 2 7");
    reference_input(&c, PGY_F16, "1 36 7");
    reference_constant(&c);
    reference_input(&c, PGY_F16, "1 36 9");
    reference_constant(&c);
    assert_true(reference_run(&c, 3, TOLERANCE[0] * 2) > 0);
}

static void test_half_adapter__large_constants_are_not_read_in_vain(void **state)
{
    (void)state;
    reference_case c;
    reference_start(&c, "", "Mul", 14);
    reference_input(&c, PGY_BF16, "3 300 300");
    reference_input(&c, PGY_BF16, "300 300");
    reference_constant(&c);
    assert_true(reference_run(&c, 1, TOLERANCE[1]) > 0);
}

static void test_half_adapter__results_below_a_byte(void **state)
{
    (void)state;
    for (size_t t = 0; t < BOTH; t++) {
        reference_case c;
        reference_start(&c, "", "QuantizeLinear", 25);
        reference_attr_int(&c, "output_dtype", pgy_dtype_describe(PGY_I4)->onnx);
        reference_input(&c, TYPES[t], "3 7");
        *(uint16_t *)reference_input(&c, TYPES[t], "") = half_of(TYPES[t], 0.5);
        (void)reference_run(&c, 1, 0); /* whoever accepts it must run */
    }
}

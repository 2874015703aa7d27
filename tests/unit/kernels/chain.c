/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of elementwise steps against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "harness/reference_case.h"

static const double TOLERANCE = 2e-6;

static size_t run_case(const char *program, const char *const *shapes, kernel_layout layout)
{
    reference_case c;
    reference_start(&c, "pgy", "Elementwise", 1);
    reference_attr_text(&c, "program", program);
    for (; *shapes; shapes++) reference_input(&c, PGY_F32, *shapes);
    return reference_run_layout(&c, 1, layout, TOLERANCE);
}

static void test_chain__every_operator(void **state)
{
    (void)state;
    static const char *const UNARY[] = {"Relu t0",        "LeakyRelu t0 0.25",
                                        "Clip t0 -1 1.5", "HardSigmoid t0 0.2 0.5",
                                        "HardSwish t0",   "Abs t0",
                                        "Neg t0",         "Tanh t0",
                                        "Sigmoid t0",     "Erf t0",
                                        "Gelu t0",        "FastGelu t0",
                                        "Swish t0 1.702", "Softplus t0",
                                        "Mish t0",        "Sin t0",
                                        "Cos t0",         "Atan t0",
                                        "Asinh t0",       "Sinh t0",
                                        "Cosh t0",        "Floor t0",
                                        "Ceil t0",        "Round t0",
                                        "Sign t0"};
    static const char *const OTHERS[] = {
        "Abs x0; Sqrt t0; Add t1 x1",
        "Clip x0 -3 3; Exp t0; Log t1",
        "Abs x0; Add t0 x1; Abs t1; Max t2 x0; Min t3 x1",
        "Exp x0; Reciprocal t0",
        "Exp x0; Div x1 t0",
        "Sub x1 x0; Mul t0 t0",
        "Clip x0 -0.9 0.9; Asin t0; Tan t1; Add t2 x1",
        "Clip x0 -0.9 0.9; Acos t0; Atanh t0; Add t1 t2; Mul t3 x1",
        "Abs x0; Exp t0; Acosh t1; Add t2 x1"};
    static const char *const SHAPES[] = {"3 700", "3 700", NULL};
    for (size_t i = 0; i < sizeof UNARY / sizeof *UNARY; i++) {
        char program[64];
        snprintf(program, sizeof program, "Add x0 x1; %s", UNARY[i]);
        assert_true(run_case(program, SHAPES, KERNEL_LINEAR) > 0);
    }
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        assert_true(run_case(OTHERS[i], SHAPES, KERNEL_LINEAR) > 0);
}

static void test_chain__inputs_that_are_repeated(void **state)
{
    (void)state;
    static const char *const SHAPES[][4] = {
        {"2 5 300", "300", "1", NULL},           {"2 5 300", "5 1", "2 1 1", NULL},
        {"4 90 7", "90 1", "1 7", NULL},         {"4 1 7", "90 1", "4 90 7", NULL},
        {"1", "3 1 1 2", "1 8 9 1", NULL},       {"2 16 9 9", "16 1 1", "2 16 1 1", NULL},
        {"1 20 5 5", "20 1 1", "1 20 5 5", NULL}};
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++)
        for (int layout = KERNEL_LINEAR; layout <= KERNEL_BLOCKED_16; layout++)
            run_case("Add x0 x1; Mul t0 x2; Sigmoid t1; Sub t2 x0", SHAPES[i],
                     (kernel_layout)layout);
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++)
        assert_true(
            run_case("Add x0 x1; Mul t0 x2; Sigmoid t1; Sub t2 x0", SHAPES[i], KERNEL_LINEAR) > 0);
}

/* A product with one number and the sum behind it take one pass; other products do not. */
static void test_chain__scaled_tensors_that_are_added(void **state)
{
    (void)state;
    static const char *const PROGRAMS[] = {
        "Mul x1 x2; Add x0 t0",         "Mul x2 x1; Add t0 x0",
        "Mul x1 x2; Add t0 t0",         "Mul x1 x2; Add t0 x2",
        "Mul x1 x0; Add t0 x0",         "Mul x1 x2; Add x0 t0; Mul t0 t1",
        "Mul x1 x2; Add x0 t0; Abs t1", "Abs x0; Mul t0 x2; Add t1 t0; Mul t2 x2; Add t3 x1"};
    static const char *const SHAPES[][4] = {{"2 5 1300", "2 5 1300", "5 1", NULL},
                                            {"2 5 1300", "2 5 1300", "2 5 1300", NULL},
                                            {"40 7", "40 7", "40 1", NULL}};
    for (size_t i = 0; i < sizeof PROGRAMS / sizeof *PROGRAMS; i++)
        for (size_t k = 0; k < sizeof SHAPES / sizeof *SHAPES; k++)
            assert_true(run_case(PROGRAMS[i], SHAPES[k], KERNEL_LINEAR) > 0);
}

static void test_chain__many_results_at_once(void **state)
{
    (void)state;
    static const char *const SHAPES[] = {"1 5000", "1", NULL};
    assert_true(run_case("Add x0 x1; Mul x0 x1; Sub x0 x1; Abs x0; Neg x0; Relu x0; Add t0 t5; "
                         "Mul t6 t4; Sub t7 t3; Add t8 t2; Sub t9 t1; Add t10 t0",
                         SHAPES, KERNEL_LINEAR) > 0);
}

/* One operand must fill the output; a number for all of it is left to the reference. */
static void test_chain__a_step_on_a_repeated_input_alone_is_refused(void **state)
{
    (void)state;
    static const char *const SHAPES[] = {"4 4", "1", NULL};
    assert_int_equal(run_case("Exp x1; Add t0 x0", SHAPES, KERNEL_LINEAR), 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions against the C library's long double ones: within one unit in the last place,
 * the same bits at every place of an array, and the edges of the range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "ops/vmath.h"

typedef void (*function)(double *y, const double *x, size_t n);
typedef long double (*exact)(long double x);

/* The distance in units of the last place of the exact result. */
static double units(double got, long double wanted)
{
    int exponent;
    if (got == (double)wanted) return 0;
    frexpl(wanted, &exponent);
    if (exponent < -1021) exponent = -1021;
    return (double)(fabsl((long double)got - wanted) / ldexpl(1, exponent - 53));
}

static void check_range(const char *name, function f, exact g, double from, double to)
{
    enum { COUNT = 200003 };
    static double x[COUNT], y[COUNT];
    double worst = 0, at = 0;
    for (size_t i = 0; i < COUNT; i++) x[i] = from + (to - from) * (double)i / (COUNT - 1);
    f(y, x, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        const double error = units(y[i], g((long double)x[i]));
        if (error > worst) worst = error, at = x[i];
    }
    if (!(worst <= 1)) fail_msg("%s is %g units off at %a", name, worst, at);
}

static void test_vmath__exp(void **state)
{
    (void)state;
    check_range("exp", vmath_exp, expl, -745.2, 709.7);
    check_range("exp", vmath_exp, expl, -20, 20);
    check_range("exp", vmath_exp, expl, -1, 1);
    check_range("exp", vmath_exp, expl, -1e-9, 1e-9);
    const double x[] = {0, -0.0, INFINITY, -INFINITY, 710, -746, 1e300, -1e300, DBL_MIN};
    double y[sizeof x / sizeof *x];
    vmath_exp(y, x, sizeof x / sizeof *x);
    const double wanted[] = {1, 1, INFINITY, 0, INFINITY, 0, INFINITY, 0, 1};
    assert_memory_equal(y, wanted, sizeof wanted);
}

static void test_vmath__tanh(void **state)
{
    (void)state;
    check_range("tanh", vmath_tanh, tanhl, -0.7, 0.7);
    check_range("tanh", vmath_tanh, tanhl, 0.5, 3);
    check_range("tanh", vmath_tanh, tanhl, -30, 30);
    check_range("tanh", vmath_tanh, tanhl, -1e-160, 1e-160);
    const double x[] = {0, -0.0, INFINITY, -INFINITY, 400, -1e300, 0x1p-1074};
    double y[sizeof x / sizeof *x];
    vmath_tanh(y, x, sizeof x / sizeof *x);
    const double wanted[] = {0, -0.0, 1, -1, 1, -1, 0x1p-1074};
    assert_memory_equal(y, wanted, sizeof wanted);
}

static void test_vmath__erf(void **state)
{
    (void)state;
    check_range("erf", vmath_erf, erfl, -1.1, 1.1);
    check_range("erf", vmath_erf, erfl, 0.7, 3);
    check_range("erf", vmath_erf, erfl, -8, 8);
    check_range("erf", vmath_erf, erfl, -1e-160, 1e-160);
    const double x[] = {0, -0.0, INFINITY, -INFINITY, 400, -1e300};
    double y[sizeof x / sizeof *x];
    vmath_erf(y, x, sizeof x / sizeof *x);
    const double wanted[] = {0, -0.0, 1, -1, 1, -1};
    assert_memory_equal(y, wanted, sizeof wanted);
}

/* 1 / (1 + exp(-x)) itself rounds three times. */
static void test_vmath__sigmoid(void **state)
{
    (void)state;
    enum { COUNT = 4001 };
    double x[COUNT], y[COUNT];
    for (size_t i = 0; i < COUNT; i++) x[i] = ((double)i - 2000) / 40;
    vmath_sigmoid(y, x, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(units(y[i], 1 / (1 + expl(-(long double)x[i]))) <= 2.5);
    const double ends[] = {INFINITY, -INFINITY, 800, -800, 0};
    vmath_sigmoid(y, ends, 5);
    const double wanted[] = {1, 0, 1, 0, 0.5};
    assert_memory_equal(y, wanted, sizeof wanted);
}

static void test_vmath__nan(void **state)
{
    (void)state;
    const function all[] = {vmath_exp, vmath_tanh, vmath_erf, vmath_sigmoid};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const double x[3] = {NAN, 1, -NAN};
        double y[3];
        all[i](y, x, 3);
        assert_true(isnan(y[0]) && !isnan(y[1]) && isnan(y[2]));
    }
}

static void test_vmath__every_place_alike(void **state)
{
    (void)state;
    enum { COUNT = 37 };
    const function all[] = {vmath_exp, vmath_tanh, vmath_erf, vmath_sigmoid};
    double x[COUNT], y[COUNT], one;
    for (size_t i = 0; i < COUNT; i++) x[i] = ((double)i - 18) * 0.17;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        all[k](y, x, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            all[k](&one, &x[i], 1);
            assert_memory_equal(&one, &y[i], sizeof one);
        }
    }
}

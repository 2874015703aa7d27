/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions of every level against those of the C library in double. */
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/vec_math.h"

enum { COUNT = 1000, STEP = 100003 };

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double unit_of(double y)
{
    int exponent;
    if (fabs(y) < 0x1p-126) return 0x1p-149;
    frexp(y, &exponent);
    return ldexp(1, exponent - 24);
}

static void check_one(const char *name, float x, float got, double wanted, double units)
{
    const double y = (double)got;
    if (isnan(wanted) ? isnan(y) : y == wanted) return;
    if ((double)(float)wanted == y) return; /* overflow to infinity */
    if (!(fabs(y - wanted) <= units * unit_of(wanted)))
        fail_msg("%s(%a) is %a, not %a", name, (double)x, y, wanted);
}

/* All float32 in steps, both signs, infinities and NaN. */
static void sweep(const char *name, vec_function f, double (*wanted)(double), double units)
{
    float x[COUNT], y[COUNT];
    uint64_t bits = 0;
    while (bits <= UINT32_MAX) {
        size_t n = 0;
        for (; n < COUNT && bits <= UINT32_MAX; n++, bits += STEP) {
            const uint32_t b = (uint32_t)bits;
            memcpy(&x[n], &b, sizeof b);
        }
        f(y, x, n);
        for (size_t i = 0; i < n; i++) check_one(name, x[i], y[i], wanted((double)x[i]), units);
    }
    static const float ENDS[] = {0,          -0.0f,      1,          -1,      INFINITY, -INFINITY,
                                 NAN,        88.7f,      88.73f,     -87.3f,  -87.4f,   -103.9f,
                                 -104.1f,    0x1p-126f,  0x1p-149f,  0.625f,  0.62499f, 3.999f,
                                 0x1.fp127f, -0x1p-149f, 0.9999999f, 1.0001f, -150};
    const size_t n = sizeof ENDS / sizeof *ENDS;
    f(y, ENDS, n);
    for (size_t i = 0; i < n; i++) check_one(name, ENDS[i], y[i], wanted((double)ENDS[i]), units);
}

static void test_vec_math__circular_and_hyperbolic_functions(void **state)
{
    (void)state;
    for (cpu_level level = CPU_PORTABLE; level <= cpu_features(); level++) {
        const vec_math *m = vec_math_of(level);
        sweep("sin", m->sin, sin, 2);
        sweep("cos", m->cos, cos, 2);
        sweep("tan", m->tan, tan, 4);
        sweep("asin", m->asin, asin, 3);
        sweep("acos", m->acos, acos, 2);
        sweep("atan", m->atan, atan, 2);
        sweep("sinh", m->sinh, sinh, 2);
        sweep("cosh", m->cosh, cosh, 2);
        sweep("asinh", m->asinh, asinh, 3);
        sweep("acosh", m->acosh, acosh, 3);
        sweep("atanh", m->atanh, atanh, 3);
    }
}

/* Floats next to multiples of pi / 2, where most digits cancel. */
static void test_vec_math__multiples_of_half_pi(void **state)
{
    (void)state;
    for (cpu_level level = CPU_PORTABLE; level <= cpu_features(); level++) {
        const vec_math *m = vec_math_of(level);
        for (uint32_t k = 0; k < 100000; k += COUNT / 4) {
            float x[COUNT], y[COUNT];
            for (uint32_t i = 0; i < COUNT; i++) {
                x[i] = (float)((k + i / 4) * 1.5707963267948966);
                if (i % 4 == 1) x[i] = nextafterf(x[i], 0);
                if (i % 4 == 2) x[i] = nextafterf(x[i], INFINITY);
                if (i % 4 == 3) x[i] = -x[i];
            }
            m->sin(y, x, COUNT);
            for (size_t i = 0; i < COUNT; i++) check_one("sin", x[i], y[i], sin((double)x[i]), 2);
            m->cos(y, x, COUNT);
            for (size_t i = 0; i < COUNT; i++) check_one("cos", x[i], y[i], cos((double)x[i]), 2);
            m->tan(y, x, COUNT);
            for (size_t i = 0; i < COUNT; i++) check_one("tan", x[i], y[i], tan((double)x[i]), 4);
        }
    }
}

static void test_vec_math__two_units_in_the_last_place(void **state)
{
    (void)state;
    for (cpu_level level = CPU_PORTABLE; level <= cpu_features(); level++) {
        const vec_math *m = vec_math_of(level);
        sweep("exp", m->exp, exp, 2);
        sweep("log", m->log, log, 2);
        sweep("tanh", m->tanh, tanh, 2);
        sweep("sigmoid", m->sigmoid, sigmoid, 2);
        sweep("erf", m->erf, erf, 2);
    }
}

static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double gelu(double x)
{
    return 0.5 * x * (1 + erf(x * 0.7071067811865476));
}

static double fast_gelu(double x)
{
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static double silu(double x)
{
    return x * sigmoid(x);
}

static double mish(double x)
{
    return x * tanh(softplus(x));
}

/* Within a few roundings of the argument. */
static void near_argument(const char *name, vec_function f, double (*wanted)(double), float from)
{
    float x[COUNT], y[COUNT];
    for (size_t i = 0; i < COUNT; i++) x[i] = from + (float)i * 0.0301f;
    f(y, x, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        if (!(fabs((double)y[i] - wanted((double)x[i])) <= 0x1p-22 * (1 + fabs((double)x[i]))))
            fail_msg("%s(%a) is %a, not %a", name, (double)x[i], (double)y[i],
                     wanted((double)x[i]));
}

static void test_vec_math__composed_functions(void **state)
{
    (void)state;
    for (cpu_level level = CPU_PORTABLE; level <= cpu_features(); level++) {
        const vec_math *m = vec_math_of(level);
        near_argument("gelu", m->gelu, gelu, -15);
        near_argument("fast_gelu", m->fast_gelu, fast_gelu, -15);
        near_argument("silu", m->silu, silu, -15);
        near_argument("softplus", m->softplus, softplus, -15);
        near_argument("mish", m->mish, mish, -15);
        near_argument("expm1", m->expm1, expm1, -31);
    }
}

/* An absolute bound: a large negative argument leaves few digits of the result. */
static void within_argument(const char *name, vec_function f, double (*wanted)(double))
{
    float x[COUNT], y[COUNT];
    for (uint32_t from = 0; from < 400; from++) {
        for (size_t i = 0; i < COUNT; i++)
            x[i] = -20 + (float)(from * COUNT + i) * (40.0f / (400 * COUNT));
        f(y, x, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            if (!(fabs((double)y[i] - wanted((double)x[i])) <= 0x1p-22 * fabs((double)x[i])))
                fail_msg("%s(%a) is %a, not %a", name, (double)x[i], (double)y[i],
                         wanted((double)x[i]));
    }
}

static void test_vec_math__gelu_to_digits_of_its_argument(void **state)
{
    (void)state;
    for (cpu_level level = CPU_PORTABLE; level <= cpu_features(); level++) {
        const vec_math *m = vec_math_of(level);
        within_argument("gelu", m->gelu, gelu);
        within_argument("fast_gelu", m->fast_gelu, fast_gelu);
    }
}

/* The results for 67 numbers from -32 to 34 steps do not depend on where they stand. */
static void expect_same_anywhere(float step)
{
    float x[67], y[67], z[67];
    for (size_t i = 0; i < 67; i++) x[i] = ((float)i - 32) * step;
    for (cpu_level level = CPU_PORTABLE; level <= cpu_features(); level++) {
        const vec_math *m = vec_math_of(level);
        const vec_function all[] = {
            m->exp,  m->log,      m->tanh, m->sigmoid, m->erf,   m->gelu,  m->fast_gelu,
            m->silu, m->softplus, m->mish, m->sin,     m->cos,   m->tan,   m->asin,
            m->acos, m->atan,     m->sinh, m->cosh,    m->asinh, m->acosh, m->atanh};
        for (size_t f = 0; f < sizeof all / sizeof *all; f++) {
            all[f](y, x, 67);
            for (size_t from = 0; from < 67; from += 5)
                for (size_t n = 0; n <= 67 - from; n += 3) {
                    memcpy(z, x, sizeof x);
                    all[f](z + from, z + from, n);
                    for (size_t i = 0; i < 67; i++) {
                        const float w = i >= from && i < from + n ? y[i] : x[i];
                        if (!isnan(w) || !isnan(z[i])) assert_memory_equal(&z[i], &w, sizeof w);
                    }
                }
        }
    }
}

static void test_vec_math__place_and_length_do_not_matter(void **state)
{
    (void)state;
    expect_same_anywhere(0.31f);
    expect_same_anywhere(0.1f); /* tanh of small arguments has a loop of its own */
}

static void test_vec_math__sums(void **state)
{
    (void)state;
    float x[301], y[301];
    for (size_t i = 0; i < 301; i++) x[i] = (float)((i * 7919 + 13) % 101) / 50.0f - 1;
    for (cpu_level level = CPU_PORTABLE; level <= cpu_features(); level++) {
        const vec_math *m = vec_math_of(level);
        for (size_t n = 0; n <= 301; n++) {
            double sum = 0, squares = 0, powers = 0, most = -INFINITY;
            for (size_t i = 0; i < n; i++) {
                sum += (double)x[i];
                squares += ((double)x[i] - 0.25) * ((double)x[i] - 0.25);
                powers += exp((double)x[i] - 1);
                most = fmax(most, (double)x[i]);
            }
            assert_true(fabs((double)m->sum(x, n) - sum) < 1e-5);
            assert_true(fabs((double)m->sum_squares(x, n, 0.25f) - squares) < 1e-4);
            assert_true(fabs((double)m->exp_sum(y, x, n, 1) - powers) < 1e-4);
            assert_true((double)m->max(x, n) == most);
            if (n) assert_true(fabs((double)y[n - 1] - exp((double)x[n - 1] - 1)) < 1e-6);
        }
        for (size_t i = 0; i < 301; i++) { /* NaN is kept wherever it stands */
            const float kept = x[i];
            x[i] = NAN;
            assert_true(isnan(m->max(x, 301)));
            x[i] = kept;
        }
    }
}

/* The same elements as exp_sum gives, in columns. */
static void test_vec_math__sums_of_columns(void **state)
{
    (void)state;
    enum { ROWS = 5, WIDTH = 75 };
    float x[ROWS * WIDTH], y[ROWS * WIDTH], less[WIDTH], sum[WIDTH];
    for (size_t i = 0; i < ROWS * WIDTH; i++) x[i] = (float)((i * 7919 + 13) % 101) / 5.0f - 10;
    for (size_t j = 0; j < WIDTH; j++) less[j] = (float)j / 10;
    for (cpu_level level = CPU_PORTABLE; level <= cpu_features(); level++)
        for (size_t n = 0; n <= WIDTH; n++) {
            const vec_math *m = vec_math_of(level);
            memcpy(y, x, sizeof y);
            for (size_t j = 0; j < WIDTH; j++) sum[j] = 3;
            m->exp_sum_columns(y, y, ROWS, WIDTH, n, less, sum);
            for (size_t j = 0; j < WIDTH; j++) {
                double wanted = 3;
                for (size_t i = 0; i < ROWS; i++) {
                    const size_t at = i * WIDTH + j;
                    const double e = exp((double)x[at] - (double)less[j]);
                    assert_true(fabs((double)y[at] - (j < n ? e : (double)x[at])) <= 1e-5 * e);
                    if (j < n) wanted += e;
                }
                assert_true(fabs((double)sum[j] - wanted) < 1e-5 * wanted);
            }
        }
}

/* Rows of any length, several at once, equal what double precision gives. */
static void test_vec_math__normalized_rows(void **state)
{
    (void)state;
    enum { MOST = 150, GIVEN = 3 };
    float x[GIVEN * MOST], y[GIVEN * MOST + 1], scale[MOST], bias[MOST], means[GIVEN],
        factors[GIVEN];
    for (size_t i = 0; i < GIVEN * MOST; i++) x[i] = (float)((i * 7919 + 13) % 101) / 50.0f - 1;
    for (size_t i = 0; i < MOST; i++) scale[i] = 1 + (float)i / 100, bias[i] = (float)i / 7;
    for (cpu_level level = CPU_PORTABLE; level <= cpu_features(); level++)
        for (size_t n = 1; n <= MOST; n++)
            for (int kind = 0; kind < 4; kind++) {
                const vec_norm v = {.root = kind & 1,
                                    .epsilon = 1e-3f,
                                    .scale = scale,
                                    .bias = kind & 2 ? bias : NULL};
                y[GIVEN * n] = 77;
                vec_math_of(level)->normalize_rows(y, x, GIVEN, n, &v, means, factors);
                assert_true(y[GIVEN * n] == 77);
                for (size_t r = 0; r < GIVEN; r++) {
                    double mean = 0, variance = 0;
                    for (size_t i = 0; i < n; i++) mean += (double)x[r * n + i] / (double)n;
                    if (v.root) mean = 0;
                    for (size_t i = 0; i < n; i++)
                        variance += pow((double)x[r * n + i] - mean, 2) / (double)n;
                    const double factor = 1 / sqrt(variance + 1e-3);
                    assert_true(fabs((double)means[r] - mean) < 1e-6);
                    assert_true(fabs((double)factors[r] - factor) < 1e-4 * factor);
                    for (size_t i = 0; i < n; i++) {
                        const double wanted =
                            ((double)x[r * n + i] - mean) * factor * (double)scale[i] +
                            (v.bias ? (double)bias[i] : 0);
                        assert_true(fabs((double)y[r * n + i] - wanted) < 2e-4);
                    }
                }
            }
}

static void test_vec_math__softmax_of_rows(void **state)
{
    (void)state;
    enum { MOST = 150, GIVEN = 3 };
    float x[GIVEN * MOST], y[GIVEN * MOST + 1];
    for (cpu_level level = CPU_PORTABLE; level <= cpu_features(); level++)
        for (size_t n = 1; n <= MOST; n++) {
            for (size_t i = 0; i < GIVEN * MOST; i++)
                y[i] = x[i] = (float)((i * 7919 + 13) % 101) / 5.0f - 90;
            x[n] = y[n] = NAN; /* the second row */
            y[GIVEN * n] = 77;
            vec_math_of(level)->softmax_rows(y, y, GIVEN, n);
            assert_true(y[GIVEN * n] == 77);
            for (size_t r = 0; r < GIVEN; r++) {
                double sum = 0;
                for (size_t i = 0; i < n; i++) sum += exp((double)x[r * n + i] + 90);
                for (size_t i = 0; i < n; i++) {
                    const double wanted = exp((double)x[r * n + i] + 90) / sum;
                    if (r == 1)
                        assert_true(isnan(y[r * n + i]));
                    else
                        assert_true(fabs((double)y[r * n + i] - wanted) <= 1e-5 * wanted);
                }
            }
        }
}

static void test_vec_math__combined_rows(void **state)
{
    (void)state;
    enum { MOST = 70, WIDE = 75, LINES = 3 };
    float a[LINES * WIDE], b[LINES * WIDE], c[LINES * WIDE];
    for (size_t i = 0; i < LINES * WIDE; i++)
        a[i] = (float)(i % 17) - 8, b[i] = (float)(i % 11) / 4 - 1;
    for (cpu_level level = CPU_PORTABLE; level <= cpu_features(); level++)
        for (size_t n = 0; n <= MOST; n++)
            for (int kind = 0; kind < 4; kind++) {
                const float *second = kind == 0 ? NULL : kind == 1 ? b : c;
                const size_t step = kind == 2 ? 0 : WIDE; /* one row for all, but not in place */
                if (kind == 2) second = b;
                memcpy(c, b, sizeof c);
                vec_math_of(level)->combine_rows(c, WIDE, a, WIDE, 2, second, step, 0.5f, LINES, n);
                for (size_t i = 0; i < LINES * WIDE; i++) {
                    const size_t row = i / WIDE, j = i % WIDE;
                    const float add = second ? b[row * step + j] / 2 : 0;
                    assert_true(c[i] == (j < n ? 2 * a[i] + add : b[i]));
                }
            }
}

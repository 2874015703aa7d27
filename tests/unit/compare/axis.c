/* SPDX-License-Identifier: Apache-2.0 */
/* Axes of plots: ticks that all differ and say where they stand, whatever the data. */
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compare/axis.h"

#define TRUE_MIN 4.9406564584124654e-324

static void check_ticks(const axis *a, const tick *t, size_t n)
{
    assert_in_range(n, 1, AXIS_TICKS);
    for (size_t i = 0; i < n; i++) {
        assert_true(t[i].value >= a->low && t[i].value <= a->high);
        assert_true(t[i].at >= 0 && t[i].at <= 1);
        if (a->logarithmic) assert_true(strtod(t[i].label, NULL) > 0);
        for (size_t j = 0; j < i; j++) assert_string_not_equal(t[i].label, t[j].label);
        if (i) assert_true(t[i].at >= t[i - 1].at);
    }
}

static void check(const double *x, size_t n)
{
    tick ticks[AXIS_TICKS];
    for (int kind = 0; kind < 4; kind++) {
        axis a = kind & 1 ? axis_rounded(x, n, kind & 2) : axis_of(x, n, kind & 2);
        assert_true(isfinite(a.low) && isfinite(a.high) && a.low <= a.high);
        assert_true(!a.logarithmic || a.low > 0);
        if (kind & 1) assert_true(a.low < a.high);
        for (size_t i = 0; i < n; i++) {
            if (!isfinite(x[i]) || (a.logarithmic && x[i] <= 0)) continue;
            assert_true(x[i] >= a.low && x[i] <= a.high);
            assert_true(axis_place(&a, x[i]) >= 0 && axis_place(&a, x[i]) <= 1);
        }
        for (size_t most = 2; most <= 12; most += 5)
            for (size_t room = 20; room <= 200; room *= 10)
                check_ticks(&a, ticks, axis_ticks(ticks, &a, most, room));
        check_ticks(&a, ticks, axis_even_ticks(ticks, &a, 4));
    }
}

static void test_axis__ticks_differ(void **state)
{
    (void)state;
    static const double DATA[][3] = {
        {0, 0, 0},
        {5, 5, 5},
        {0, NAN, INFINITY},
        {NAN, NAN, NAN},
        {1000.001, 1000.0011, 1000.0012},
        {1, 1 + DBL_EPSILON, 1 + 2 * DBL_EPSILON},
        {TRUE_MIN, TRUE_MIN, TRUE_MIN},
        {0, TRUE_MIN, 3 * TRUE_MIN},
        {TRUE_MIN, 1, DBL_MAX},
        {DBL_MAX, DBL_MAX, DBL_MAX},
        {0, DBL_MAX / 2, DBL_MAX},
        {1e-310, 2e-310, 9e-310},
        {0, 9999, 10001},
        {10002, 10005, 10009},
        {1e-7, 1e-6, 3e-6},
        {1e300, 1e305, INFINITY},
    };
    for (size_t i = 0; i < sizeof DATA / sizeof DATA[0]; i++) check(DATA[i], 3);
    check(NULL, 0);
    srand(7);
    for (int i = 0; i < 2000; i++) {
        double x[3];
        for (int j = 0; j < 3; j++) x[j] = ldexp(rand() / (double)RAND_MAX, rand() % 2000 - 1000);
        if (i % 2) x[1] = x[0] * (1 + 1e-9), x[2] = x[0] * (1 + 3e-9);
        check(x, 3);
    }
}

static void assert_labels(axis a, size_t most, const char *const *labels)
{
    tick ticks[AXIS_TICKS];
    size_t n = axis_ticks(ticks, &a, most, SIZE_MAX);
    for (size_t i = 0; i < n; i++) {
        assert_non_null(labels[i]);
        assert_string_equal(ticks[i].label, labels[i]);
    }
    assert_null(labels[n]);
}

static void test_axis__round_values(void **state)
{
    (void)state;
    assert_labels(axis_rounded((double[]){0, 0.93}, 2, false), 5,
                  (const char *[]){"0", "0.2", "0.4", "0.6", "0.8", "1", NULL});
    assert_labels(
        axis_rounded((double[]){3e-7, 0, 0.02}, 3, true), 8,
        (const char *[]){"1e-07", "1e-06", "1e-05", "0.0001", "0.001", "0.01", "0.1", NULL});
    assert_labels(axis_rounded((double[]){10002, 10010}, 2, false), 4,
                  (const char *[]){"10002", "10004", "10006", "10008", "10010", NULL});
    assert_labels(axis_rounded((double[]){0.002, 0.003}, 2, true), 8,
                  (const char *[]){"0.001", "0.002", "0.005", "0.01", NULL});
}

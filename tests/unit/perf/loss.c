/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "perf/perf.h"

static double loss(pgy_perf_loss_kind kind, float *a, float *r, int64_t n)
{
    pgy_error err = {0};
    double v = -1;
    assert_int_equal(pgy_perf_loss(&v, kind, pgy_view_of(a, PGY_F32, 1, &n),
                                   pgy_view_of(r, PGY_F32, 1, &n), 0.5, 0.25, &err),
                     PGY_OK);
    return v;
}

/* Differences 0, 1, 2, 0.5; tolerances 0.75, 1, 1.5, 1. */
static void test_loss__hand_computed(void **state)
{
    float a[] = {1, 3, 6, 2.5F}, r[] = {1, 2, 4, 2};
    (void)state;
    assert_true(loss(PGY_LOSS_L0, a, r, 4) == 0.25);
    assert_true(loss(PGY_LOSS_L1, a, r, 4) == 3.5 / 4);
    assert_true(loss(PGY_LOSS_L2, a, r, 4) == 5.25 / 4);
    assert_true(loss(PGY_LOSS_LINF, a, r, 4) == 2);
    assert_float_equal(loss(PGY_LOSS_COS, a, r, 4), 1 - 36 / (sqrt(52.25) * sqrt(25)), 1e-12);
}

static void test_loss__nan_never_passes(void **state)
{
    float a[] = {1, NAN}, r[] = {1, 2};
    (void)state;
    assert_true(loss(PGY_LOSS_L0, a, r, 2) == 0.5);
    assert_true(loss(PGY_LOSS_L0, a, a, 2) == 0.5);
    for (int kind = PGY_LOSS_L1; kind <= PGY_LOSS_COS; kind++) {
        assert_true(isnan(loss((pgy_perf_loss_kind)kind, a, r, 2)));
        assert_true(isnan(loss((pgy_perf_loss_kind)kind, r, a, 2)));
    }
}

static void test_loss__equal_infinities_do_not_differ(void **state)
{
    float a[] = {INFINITY, 1}, r[] = {INFINITY, 1};
    (void)state;
    assert_true(loss(PGY_LOSS_L0, a, r, 2) == 0);
    assert_true(loss(PGY_LOSS_LINF, a, r, 2) == 0);
}

static void test_loss__nothing_to_compare_is_an_error(void **state)
{
    float a[] = {1};
    const int64_t one = 1, none = 0;
    pgy_error err = {0};
    double v;
    (void)state;
    assert_int_equal(pgy_perf_loss(&v, PGY_LOSS_L0, pgy_view_of(a, PGY_F32, 1, (int64_t *)&none),
                                   pgy_view_of(a, PGY_F32, 1, (int64_t *)&none), 0, 0, &err),
                     PGY_E_SHAPE);
    assert_int_equal(pgy_perf_loss(&v, PGY_LOSS_L0, pgy_view_of(a, PGY_F32, 1, (int64_t *)&one),
                                   pgy_view_of(a, PGY_F32, 1, (int64_t *)&none), 0, 0, &err),
                     PGY_E_SHAPE);
}

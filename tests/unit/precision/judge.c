/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "precision/precision.h"

static pgy_tensor_map *map_of(const float *v, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {rows, columns};
    pgy_error err;
    pgy_tensor_map *m = NULL;
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_map_create(&m, &err), PGY_OK);
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, 2, shape, &err), PGY_OK);
    memcpy(pgy_tensor_data(t), v, (size_t)(rows * columns) * sizeof *v);
    assert_int_equal(pgy_tensor_map_adopt(m, "y", t, &err), PGY_OK);
    return m;
}

static double error_of(pgy_precision_criterion criterion, const float *a, const float *b)
{
    pgy_tensor_map *x = map_of(a, 2, 2), *y = map_of(b, 2, 2);
    pgy_precision p = {.options = pgy_precision_options_default(), .references = &x};
    pgy_error err;
    p.options.criterion = criterion;
    judge j = {.p = &p};
    double error = -1;
    assert_int_equal(judge_add(&j, 0, y, &err), PGY_OK);
    assert_int_equal(judge_finish(&error, &j, &err), PGY_OK);
    pgy_tensor_map_destroy(x);
    pgy_tensor_map_destroy(y);
    return error;
}

static const float A[] = {3, 0, 0, 4}, SAME_ORDER[] = {3, 1, 0, 4}, OTHER_ORDER[] = {3, 1, 5, 4};

static void test_judge__criteria(void **state)
{
    (void)state;
    assert_true(error_of(PGY_PRECISION_TOLERANCE, A, A) == 0);
    assert_float_equal(error_of(PGY_PRECISION_TOLERANCE, A, OTHER_ORDER), 5, 0);
    assert_float_equal(error_of(PGY_PRECISION_SNR, A, SAME_ORDER), 0.2, 1e-9);
    assert_float_equal(error_of(PGY_PRECISION_TOP_K, A, SAME_ORDER), 0, 0);
    assert_float_equal(error_of(PGY_PRECISION_TOP_K, A, OTHER_ORDER), 0.5, 0);
}

static void test_judge__nan_never_passes(void **state)
{
    (void)state;
    const float bad[] = {3, NAN, 0, 4};
    for (int c = PGY_PRECISION_TOLERANCE; c <= PGY_PRECISION_TOP_K; c++)
        assert_true(isinf(error_of((pgy_precision_criterion)c, A, bad)));
}

static void test_judge__limits(void **state)
{
    (void)state;
    pgy_precision_options o = pgy_precision_options_default();
    o.criterion = PGY_PRECISION_SNR;
    o.limit = 40;
    assert_float_equal(judge_limit(&o), 0.01, 1e-9);
    o.criterion = PGY_PRECISION_TOP_K;
    o.limit = 0.75;
    assert_float_equal(judge_limit(&o), 0.25, 1e-9);
}

static void test_judge__refuses_options(void **state)
{
    (void)state;
    pgy_error err;
    pgy_precision_options o = pgy_precision_options_default();
    assert_int_equal(judge_options(&o, &err), PGY_OK);
    o.limit = NAN;
    assert_int_equal(judge_options(&o, &err), PGY_E_ARGUMENT);
    o = pgy_precision_options_default();
    o.type = PGY_F32;
    assert_int_equal(judge_options(&o, &err), PGY_E_ARGUMENT);
    o = pgy_precision_options_default();
    o.criterion = PGY_PRECISION_TOP_K;
    o.limit = 1.5;
    assert_int_equal(judge_options(&o, &err), PGY_E_ARGUMENT);
    o = pgy_precision_options_default();
    o.criterion = PGY_PRECISION_SCRIPT;
    assert_int_equal(judge_options(&o, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "'options.script' must name the script of the criterion");
}

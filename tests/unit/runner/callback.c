/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <polygraphy/runner.h>

static pgy_status twice(const pgy_tensor_map *feed, pgy_tensor_map *out, void *user, pgy_error *err)
{
    pgy_tensor *y = NULL;
    const float *x = pgy_tensor_data(pgy_tensor_map_at(feed, 0));
    pgy_status st = pgy_tensor_create(&y, PGY_F32, 1, (int64_t[]){1}, err);
    if (st) return st;
    *(float *)pgy_tensor_data(y) = x[0] * *(const float *)user;
    return pgy_tensor_map_adopt(out, "y", y, err);
}

static pgy_tensor_map *feed_of(float v)
{
    pgy_tensor_map *feed = NULL;
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, 1, (int64_t[]){1}, NULL), PGY_OK);
    *(float *)pgy_tensor_data(t) = v;
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", t, NULL), PGY_OK);
    return feed;
}

static void test_callback__runs_without_known_inputs(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_runner *r = NULL;
    float factor = 2;
    const pgy_metadata *m = NULL;
    pgy_tensor_map *feed = feed_of(21), *out = NULL;
    assert_int_equal(pgy_runner_create_callback(&r, "mine", NULL, twice, &factor, &err), PGY_OK);
    assert_int_equal(pgy_runner_activate(r, &err), PGY_OK);
    assert_int_equal(pgy_runner_inputs(&m, r, &err), PGY_OK);
    assert_null(m);
    assert_int_equal(pgy_runner_infer(&out, r, feed, &err), PGY_OK);
    assert_float_equal(*(float *)pgy_tensor_data(pgy_tensor_map_find(out, "y")), 42, 0);
    assert_true(pgy_runner_last_time_ns(r) >= 0);
    pgy_tensor_map_destroy(out);
    pgy_tensor_map_destroy(feed);
    pgy_runner_destroy(r);
}

static void test_callback__inputs_are_copied_and_checked(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_runner *r = NULL;
    float factor = 2;
    pgy_metadata *inputs = NULL;
    pgy_tensor_map *feed = feed_of(1), *out = NULL;
    const pgy_tensor_info info = {
        .name = "x", .dtype = PGY_I64, .rank = 1, .shape = (int64_t[]){1}};
    assert_int_equal(pgy_metadata_create(&inputs, &err), PGY_OK);
    assert_int_equal(pgy_metadata_set(inputs, &info, &err), PGY_OK);
    assert_int_equal(pgy_runner_create_callback(&r, NULL, inputs, twice, &factor, &err), PGY_OK);
    pgy_metadata_destroy(inputs);
    assert_int_equal(pgy_runner_activate(r, &err), PGY_OK);
    assert_int_equal(pgy_runner_infer(&out, r, feed, &err), PGY_E_TYPE);
    assert_null(out);
    pgy_tensor_map_destroy(feed);
    pgy_runner_destroy(r);
}

static void test_callback__needs_a_function(void **state)
{
    (void)state;
    pgy_runner *r = NULL;
    assert_int_equal(pgy_runner_create_callback(&r, NULL, NULL, NULL, NULL, NULL), PGY_E_ARGUMENT);
    assert_null(r);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <polygraphy/runner.h>
#include <string.h>

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

static void expect_feed(pgy_runner *r, const char *const *names, pgy_status wanted,
                        const char *text)
{
    pgy_error err = {0};
    pgy_tensor_map *feed = NULL, *out = NULL;
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, 1, (int64_t[]){1}, NULL), PGY_OK);
    for (size_t i = 0; names[i]; i++)
        assert_int_equal(pgy_tensor_map_set(feed, names[i], t, NULL), PGY_OK);
    pgy_tensor_release(t);
    assert_int_equal(pgy_runner_infer(&out, r, feed, &err), wanted);
    if (!strstr(err.text, text)) fail_msg("%s", err.text);
    pgy_tensor_map_destroy(out);
    pgy_tensor_map_destroy(feed);
}

static void test_callback__sequences_are_checked_by_element(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_runner *r = NULL;
    float factor = 2;
    pgy_metadata *inputs = NULL;
    pgy_tensor_info info = {.name = "s", .dtype = PGY_F32, .rank = -1, .form = PGY_FORM_SEQUENCE};
    assert_int_equal(pgy_metadata_create(&inputs, &err), PGY_OK);
    assert_int_equal(pgy_metadata_set(inputs, &info, &err), PGY_OK);
    info = (pgy_tensor_info){.name = "o", .rank = -1, .form = PGY_FORM_OPTIONAL};
    assert_int_equal(pgy_metadata_set(inputs, &info, &err), PGY_OK);
    assert_int_equal(pgy_runner_create_callback(&r, "mine", inputs, twice, &factor, &err), PGY_OK);
    pgy_metadata_destroy(inputs);
    assert_int_equal(pgy_runner_activate(r, &err), PGY_OK);
#define NAMES(...) (const char *const[]){__VA_ARGS__, NULL}
    expect_feed(r, NAMES("s[0]", "s[1]", "o"), PGY_OK, "");
    expect_feed(r, NAMES("s[0]"), PGY_OK, "");
    expect_feed(r, NAMES("o"), PGY_E_ARGUMENT,
                "Input 's' is a sequence: give its elements as 's[0]', 's[1]'");
    expect_feed(r, NAMES("s[0]", "s[2]"), PGY_E_ARGUMENT, "lacks 's[1]'");
    expect_feed(r, NAMES("s", "s[0]"), PGY_E_ARGUMENT, "Extra inputs in input data: {'s'}");
    expect_feed(r, NAMES("s[0]", "o[0]"), PGY_E_ARGUMENT, "Extra inputs in input data: {'o[0]'}");
    pgy_runner_destroy(r);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "debug/replay.h"

static void expect_refused(const char *text, const char *why)
{
    debug_replay r = {0};
    pgy_error err = {0};
    assert_int_equal(debug_replay_parse(&r, text, strlen(text), &err), PGY_E_FORMAT);
    if (!strstr(err.text, why)) fail_msg("'%s' is not in '%s'", why, err.text);
    debug_replay_deinit(&r);
}

static void test_replay__round_trip(void **state)
{
    (void)state;
    static const char PATH[] = "replay_round_trip.json";
    debug_replay r = {0}, again = {0};
    const pgy_debug_trial t = {
        .index = 3, .passed = true, .state = {{"num_nodes", 17}}, .state_count = 1};
    str key = {0};
    debug_replay_append_key(&key, 3, "outputs");
    assert_string_equal(str_text(&key), "_N3_outputs");
    assert_int_equal(debug_replay_put(&r, str_text(&key), &t, NULL), PGY_OK);
    assert_int_equal(debug_replay_save(&r, PATH, NULL), PGY_OK);
    assert_int_equal(debug_replay_load(&again, PATH, NULL), PGY_OK);
    const pgy_debug_trial *found = debug_replay_find(&again, "_N3_outputs");
    assert_non_null(found);
    assert_true(found->passed);
    assert_int_equal(found->index, 3);
    assert_int_equal(found->state_count, 1);
    assert_string_equal(found->state[0].name, "num_nodes");
    assert_int_equal(found->state[0].value, 17);
    assert_null(debug_replay_find(&again, "_N3"));
    remove(PATH);
    str_deinit(&key);
    debug_replay_deinit(&r);
    debug_replay_deinit(&again);
}

static void test_replay__older_marker(void **state)
{
    (void)state;
    static const char TEXT[] =
        "{\"_N0\": {\"state\": {}, \"iteration_info\": {\"iteration\": 0}, \"success\": true, "
        "\"__polygraphy_encoded_IterationContext\": \"polygraphy_serialized_json_type\"}}";
    debug_replay r = {0};
    assert_int_equal(debug_replay_parse(&r, TEXT, sizeof TEXT - 1, NULL), PGY_OK);
    assert_true(debug_replay_find(&r, "_N0")->passed);
    debug_replay_deinit(&r);
}

#define CONTEXT(state_, info, success)                                                      \
    "{\"_N0\": {\"state\": " state_ ", \"iteration_info\": " info ", \"success\": " success \
    ", \"polygraphy_class\": \"IterationContext\"}}"

static void test_replay__what_is_none_is_refused(void **state)
{
    (void)state;
    expect_refused("[]", "line 1, column 1: an object is expected");
    expect_refused("{\"_N0\": 1}", "line 1, column 9: an IterationContext is expected");
    expect_refused(CONTEXT("{}", "{}", "true"), "'iteration_info' has no 'iteration'");
    expect_refused(CONTEXT("{}", "{\"iteration\": -1}", "true"), "has no 'iteration' of 0");
    expect_refused(CONTEXT("{}", "{\"iteration\": 0}", "null"), "'success' is not true or false");
    expect_refused(CONTEXT("[]", "{\"iteration\": 0}", "true"), "'state' is not an object");
    expect_refused(CONTEXT("{\"x\": 1}", "{\"iteration\": 0}", "true"), "an unknown member");
    expect_refused(CONTEXT("{\"num_nodes\": 1.5}", "{\"iteration\": 0}", "true"),
                   "a member of the state is not an integer");
    expect_refused("{\"_N0\"", "line 1");
}

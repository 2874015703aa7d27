/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <polygraphy/debug.h>
#include <polygraphy/graph.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/model_builder.h"

/* A judge that fails the trials whose bit is set. */
typedef struct judge {
    unsigned failing;
    int asked;
} judge;

static pgy_status judge_by_bits(bool *passed, const char *candidate, void *user, pgy_error *err)
{
    judge *j = user;
    (void)candidate;
    (void)err;
    *passed = j->asked >= 32 || !(j->failing >> j->asked & 1);
    j->asked++;
    return PGY_OK;
}

static pgy_debug_session *create(judge *j, const char *replay)
{
    const pgy_debug_check check = {.size = sizeof check, .judge = judge_by_bits, .user = j};
    pgy_debug_options o = pgy_debug_options_default();
    pgy_debug_session *s = NULL;
    o.check = &check;
    o.load_replay = replay && access(replay, R_OK) == 0 ? replay : NULL;
    o.save_replay = replay;
    assert_int_equal(pgy_debug_session_create(&s, &o, NULL), PGY_OK);
    return s;
}

static void expect_run(unsigned failing, pgy_debug_end end, int64_t count, size_t trials,
                       size_t passed)
{
    judge j = {.failing = failing};
    pgy_debug_session *s = create(&j, NULL);
    pgy_debug_summary sum = {0};
    assert_int_equal(pgy_debug_repeat(&sum, s, end, count, NULL, NULL, NULL), PGY_OK);
    assert_int_equal(sum.trials, trials);
    assert_int_equal(sum.passed, passed);
    pgy_debug_session_destroy(s);
}

static void test_session__ends(void **state)
{
    (void)state;
    expect_run(0x3, PGY_DEBUG_UNTIL_GOOD, 0, 3, 1);
    expect_run(0x4, PGY_DEBUG_UNTIL_BAD, 0, 3, 2);
    expect_run(0x5, PGY_DEBUG_UNTIL_COUNT, 4, 4, 2);
    expect_run(0, PGY_DEBUG_UNTIL_COUNT, 0, 1, 1); /* 0 behaves like 1 */
}

static void test_session__ends_after_100000_trials(void **state)
{
    (void)state;
    judge j = {.failing = 0};
    pgy_debug_session *s = create(&j, NULL);
    pgy_debug_summary sum = {0};
    pgy_error err;
    const int before = pgy_log_severity("");
    assert_int_equal(pgy_log_set_severity("", PGY_LOG_CRITICAL, NULL), PGY_OK);
    assert_int_equal(pgy_debug_repeat(&sum, s, PGY_DEBUG_UNTIL_COUNT, 100001, NULL, NULL, &err),
                     PGY_E_UNSUPPORTED);
    assert_int_equal(pgy_log_set_severity("", before, NULL), PGY_OK);
    assert_string_equal(err.text, "the session ended after 100000 trials");
    assert_int_equal(j.asked, 100000);
    pgy_debug_session_destroy(s);
}

static void test_session__goes_on_behind_a_replay(void **state)
{
    (void)state;
    static const char REPLAY[] = "session_replay.json", SKIP[] = "session_replay_skip_current.json";
    judge j = {.failing = 1};
    pgy_debug_summary sum;
    pgy_debug_session *s = create(&j, REPLAY);
    assert_int_equal(pgy_debug_repeat(&sum, s, PGY_DEBUG_UNTIL_COUNT, 2, NULL, NULL, NULL), PGY_OK);
    pgy_debug_session_destroy(s);
    s = create(&j, REPLAY);
    assert_int_equal(pgy_debug_repeat(&sum, s, PGY_DEBUG_UNTIL_COUNT, 3, NULL, NULL, NULL), PGY_OK);
    pgy_debug_session_destroy(s);
    assert_int_equal(j.asked, 3);
    assert_int_equal(sum.passed, 2);
    remove(REPLAY);
    remove(SKIP);
}

static pgy_status refuse(bool *made, pgy_debug_trial *trial, void *user, pgy_error *err)
{
    (void)trial;
    (void)user;
    (void)err;
    *made = false;
    return PGY_OK;
}

static void test_session__a_candidate_that_cannot_be_made_fails(void **state)
{
    (void)state;
    judge j = {0};
    pgy_debug_summary sum;
    pgy_debug_session *s = create(&j, NULL);
    assert_int_equal(pgy_debug_repeat(&sum, s, PGY_DEBUG_UNTIL_BAD, 0, refuse, NULL, NULL), PGY_OK);
    assert_int_equal(sum.trials, 1);
    assert_int_equal(sum.passed, 0);
    assert_int_equal(j.asked, 0);
    pgy_debug_session_destroy(s);
}

static void test_session__options_are_checked(void **state)
{
    (void)state;
    static const char *const EMPTY[] = {""}, *const WRONG[] = {"("};
    judge j = {0};
    pgy_error err = {0};
    pgy_debug_session *s = NULL;
    pgy_debug_check check = {.size = sizeof check};
    pgy_debug_options o = pgy_debug_options_default();
    assert_int_equal(pgy_debug_session_create(&s, &o, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "a check is needed"));
    o.check = &check;
    assert_int_equal(pgy_debug_session_create(&s, &o, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "neither a command nor a judge"));
    check.command = EMPTY;
    check.command_count = 1;
    assert_int_equal(pgy_debug_session_create(&s, &o, &err), PGY_E_ARGUMENT);
    check.command = NULL;
    check.judge = judge_by_bits;
    check.user = &j;
    check.fail_patterns = WRONG;
    check.fail_pattern_count = 1;
    assert_int_equal(pgy_debug_session_create(&s, &o, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "debug.fail_patterns"));
    assert_null(s);
}

/* ---- Reduction ------------------------------------------------------------------------------ */

/* Fails while the candidate has a node of the operator. */
static pgy_status has_no(bool *passed, const char *candidate, void *user, pgy_error *err)
{
    pgy_model *m = NULL;
    const pgy_status st = pgy_model_load(&m, candidate, NULL, err);
    if (st) return st;
    const pgy_onnx_graph *g = pgy_model_proto(m)->graph;
    *passed = true;
    for (size_t i = 0; i < g->node_count; i++) *passed &= strcmp(g->nodes[i]->op_type, user) != 0;
    pgy_model_destroy(m);
    return PGY_OK;
}

static pgy_model *long_chain(size_t count, size_t fault)
{
    model_builder b = builder_start(17);
    char from[32] = "x", to[32];
    builder_input(&b, "x", PGY_F32, "2, 3");
    for (size_t i = 0; i < count; i++) {
        snprintf(to, sizeof to, "t%zu", i);
        builder_node(&b, i == fault ? "Tanh" : "Relu", from, to);
        memcpy(from, to, sizeof from);
    }
    builder_output(&b, to, PGY_F32, "2, 3");
    pgy_model *model = builder_finish(&b), *inferred = NULL;
    pgy_graph *g = NULL;
    assert_int_equal(pgy_graph_import(&g, model, NULL), PGY_OK);
    assert_int_equal(pgy_graph_infer_shapes(g, NULL, NULL), PGY_OK);
    assert_int_equal(pgy_graph_export(&inferred, g, NULL), PGY_OK);
    pgy_graph_destroy(g);
    pgy_model_destroy(model);
    return inferred;
}

/* Bisection assumes that the whole model fails and its first node passes, as the original. */
static void expect_reduced(size_t count, size_t fault, bool linear)
{
    static const char CANDIDATE[] = "session_candidate.onnx";
    pgy_model *model = long_chain(count, fault);
    const pgy_debug_check check = {.size = sizeof check, .judge = has_no, .user = "Tanh"};
    pgy_debug_options o = pgy_debug_options_default();
    pgy_debug_session *s = NULL;
    pgy_debug_reduction r = {0};
    pgy_error err = {0};
    const pgy_debug_reduce_options how = {.size = sizeof how, .linear = linear};
    o.check = &check;
    o.candidate = CANDIDATE;
    assert_int_equal(pgy_debug_session_create(&s, &o, NULL), PGY_OK);
    if (pgy_debug_reduce(&r, s, model, &how, &err)) fail_msg("%s", err.text);
    assert_int_equal(r.bad_nodes, 1);
    assert_string_equal(pgy_model_proto(r.bad)->graph->nodes[0]->op_type, "Tanh");
    assert_int_equal(access(CANDIDATE, F_OK), -1);
    pgy_debug_reduction_free(&r);
    pgy_debug_session_destroy(s);
    pgy_model_destroy(model);
}

static void test_session__reduction_finds_each_node(void **state)
{
    (void)state;
    for (size_t fault = 1; fault < 9; fault++) expect_reduced(9, fault, false);
    for (size_t fault = 0; fault < 9; fault++) expect_reduced(9, fault, true);
    expect_reduced(500, 377, false);
}

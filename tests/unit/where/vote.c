/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <polygraphy/vote.h>

#include "harness/model_builder.h"

/* ---- Help ------------------------------------------------------------------------------------ */

enum { BLOCKS = 4 };

/* Leaky slopes of a negated input; node `wrong` has another slope. */
static pgy_model *chain(int wrong)
{
    model_builder b = builder_start(17);
    char in[16] = "n", out[16];
    builder_input(&b, "x", PGY_F32, "3, 4");
    builder_node(&b, "Neg", "x", "n");
    for (int i = 0; i < BLOCKS; i++) {
        snprintf(out, sizeof out, "l%d", i);
        pgy_onnx_node *n = builder_node(&b, "LeakyRelu", in, out);
        builder_attr_float(&b, n, "alpha", i == wrong ? 0.3F : 0.1F);
        snprintf(in, sizeof in, "%s", out);
    }
    builder_output(&b, in, PGY_F32, "3, 4");
    return builder_finish_bytes(&b);
}

/* Each tensor has 48 bytes. A segment of one node has its values three times, those at its border on
 * both sides, and both in float64. */
static pgy_status vote(pgy_vote **out, pgy_model *const models[3])
{
    pgy_where_side sides[3];
    pgy_where_options o = pgy_where_options_default();
    o.max_memory = 9 * 48;
    const pgy_where_side *const given[3] = {&sides[0], &sides[1], &sides[2]};
    for (int i = 0; i < 3; i++)
        sides[i] = (pgy_where_side){
            .size = sizeof *sides, .backend = pgy_backend_find("opref"), .model = models[i]};
    return pgy_vote_run(out, given, &o, NULL);
}

/* Interrupts when the nth comparison of two sides has found its first wrong tensor. */
static void interrupt(pgy_severity severity, const char *text, size_t size, void *user)
{
    int *left = user;
    (void)severity, (void)size;
    if (strstr(text, "First wrong tensor") && --*left == 0) pgy_cancel();
}

static pgy_status interrupted_vote(pgy_vote **out, pgy_model *const models[3], int comparison)
{
    pgy_log_set_sink(interrupt, &comparison);
    const pgy_status st = vote(out, models);
    pgy_log_set_sink(NULL, NULL);
    pgy_cancel_reset();
    return st;
}

static const pgy_vote_tensor *line(const pgy_vote *v, const char *name)
{
    for (size_t i = 0; i < pgy_vote_count(v); i++)
        if (!strcmp(pgy_vote_at(v, i)->name, name)) return pgy_vote_at(v, i);
    fail_msg("no tensor %s", name);
    return NULL;
}

/* ---- Votes ----------------------------------------------------------------------------------- */

static void test_vote__an_interrupted_vote_has_what_was_compared(void **state)
{
    pgy_model *good = chain(-1), *bad = chain(1);
    pgy_model *const models[3] = {good, bad, good};
    (void)state;
    for (int comparison = 1; comparison <= 2; comparison++) {
        pgy_vote *v = NULL;
        assert_int_equal(interrupted_vote(&v, models, comparison), PGY_E_CANCELLED);
        assert_non_null(v);
        assert_false(pgy_vote_passed(v));
        assert_string_equal(pgy_vote_failure(v, 0), "the vote was interrupted");
        assert_string_equal(pgy_vote_first(v)->name, "l1");
        /* the second comparison that differs is that of B and C: with it the odd side is known */
        assert_int_equal(line(v, "l1")->odd, comparison == 1 ? PGY_VOTE_UNDECIDED : 1);
        assert_true(line(v, "l1")->ab > 0.01);
        assert_int_equal(isnan(line(v, "l1")->bc), comparison == 1);
        assert_int_equal(line(v, "l3")->odd, PGY_VOTE_UNDECIDED);
        assert_true(isnan(line(v, "l3")->bc));
        pgy_vote_destroy(v);
    }
    pgy_model_destroy(good);
    pgy_model_destroy(bad);
}

static void test_vote__the_sides_in_any_order(void **state)
{
    pgy_model *good = chain(-1), *bad = chain(2);
    (void)state;
    for (int odd = 0; odd < 3; odd++) {
        pgy_model *const models[3] = {odd == 0 ? bad : good, odd == 1 ? bad : good,
                                      odd == 2 ? bad : good};
        pgy_vote *v = NULL;
        assert_int_equal(vote(&v, models), PGY_OK);
        assert_false(pgy_vote_passed(v));
        assert_int_equal(pgy_vote_failure_count(v), 0);
        assert_string_equal(pgy_vote_first(v)->name, "l2");
        assert_int_equal(line(v, "l1")->odd, PGY_VOTE_AGREED);
        for (size_t i = 2; i < BLOCKS; i++) assert_int_equal(pgy_vote_at(v, i + 1)->odd, odd);
        pgy_vote_destroy(v);
    }
    pgy_model_destroy(good);
    pgy_model_destroy(bad);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <polygraphy/bisect_rewrites.h>

#include "engine/passes/pass.h"
#include "harness/model_builder.h"
#include "transform/pattern.h"

/* ---- A faulty pass --------------------------------------------------------------------------- */

static int faulty; /* which Abs, counted from 1, becomes Neg; 0: none */
static int count;

/* Turns Abs into Relu, which is right for inputs that are not negative; once into Exp. */
static bool drop_abs(pattern *p, pgy_node *n)
{
    if (!pattern_is(n, "Abs")) return false;
    pattern_put(p, n, ++count == faulty ? "Exp" : "Relu", n->inputs, 1);
    return true;
}

static pgy_status run_planted(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {drop_abs, NULL};
    count = 0;
    return faulty ? pattern_run(g, "drop_abs", RULES, changes, err) : PGY_OK;
}

static const pass PLANTED = {
    .name = "drop_abs", .summary = "a pass with a fault", .run = run_planted};
const pass *const PASSES_OF_TEST[] = {&PLANTED, NULL};

/* ---- Models ---------------------------------------------------------------------------------- */

/* Abs and MatMul in turns, which no pass fuses. */
static pgy_model *chain_of_abs(int nodes)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "3, 4");
    builder_floats(&b, "w", "4, 4", NULL);
    char in[32] = "x", inputs[64], middle[32];
    for (int i = 0; i < nodes; i++) {
        snprintf(middle, sizeof middle, "a%d", i);
        snprintf(inputs, sizeof inputs, "%s w", middle);
        builder_node(&b, "Abs", in, middle);
        snprintf(in, sizeof in, "s%d", i);
        builder_node(&b, "MatMul", inputs, in);
    }
    builder_output(&b, in, PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static pgy_rewrite_report *search(pgy_model *model, const pgy_rewrite_options *o)
{
    pgy_rewrite_report *r = NULL;
    pgy_error err = {0};
    if (pgy_bisect_passes(&r, model, o, &err)) fail_msg("%s", err.text);
    return r;
}

static bool reads(const pgy_rewrite_report *r, const char *part)
{
    char *text = NULL;
    pgy_error err = {0};
    if (pgy_rewrite_report_text(&text, r, &err)) fail_msg("%s", err.text);
    const bool found = strstr(text, part) != NULL;
    if (!found) print_message("%s\n", text);
    pgy_text_free(text);
    return found;
}

/* ---- Cases ----------------------------------------------------------------------------------- */

static void test_passes__the_rewrite_of_a_faulty_pass(void **state)
{
    (void)state;
    pgy_model *model = chain_of_abs(9);
    for (faulty = 1; faulty <= 9; faulty++) {
        pgy_rewrite_report *r = search(model, NULL);
        assert_int_equal(pgy_rewrite_report_cause(r), PGY_REWRITE_FOUND);
        assert_int_equal(pgy_rewrite_report_count(r), 1);
        const pgy_rewrite_culprit *c = pgy_rewrite_report_at(r, 0);
        assert_string_equal(c->name, "drop_abs");
        assert_int_equal(c->rewrite, faulty);
        assert_int_equal(c->rewrite_count, 9);
        assert_string_equal(c->made, "Exp");
        assert_int_equal(c->node_count, 1);
        assert_string_equal(pgy_rewrite_report_remedy(r), "--passes=-drop_abs");
        pgy_rewrite_report_destroy(r);
    }
    faulty = 0;
    pgy_model_destroy(model);
}

static void test_passes__nothing_is_found_where_outputs_agree(void **state)
{
    (void)state;
    pgy_model *model = chain_of_abs(2);
    pgy_rewrite_report *r = search(model, NULL);
    assert_int_equal(pgy_rewrite_report_cause(r), PGY_REWRITE_AGREES);
    assert_int_equal(pgy_rewrite_report_trials(r), 1);
    assert_true(reads(r, "there is nothing to find"));
    pgy_rewrite_report_destroy(r);
    pgy_model_destroy(model);
}

/* Outputs of another model are wrong for every set of passes. */
static void test_passes__no_rewrite_is_blamed_if_the_outputs_always_differ(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_model *model = chain_of_abs(2);
    pgy_tensor_map *outputs = NULL;
    pgy_tensor *t = NULL;
    pgy_results *stored = NULL;
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, 2, (const int64_t[]){3, 4}, &err), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&outputs, &err), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(outputs, "s1", t, &err), PGY_OK);
    assert_int_equal(pgy_results_create(&stored, &err), PGY_OK);
    assert_int_equal(pgy_results_add_runner(stored, "stored", NULL, &err), PGY_OK);
    assert_int_equal(pgy_results_add(stored, 0, outputs, 0, &err), PGY_OK);
    const pgy_rewrite_options o = {.size = sizeof o, .outputs = stored};
    pgy_rewrite_report *r = search(model, &o);
    assert_int_equal(pgy_rewrite_report_cause(r), PGY_REWRITE_NONE);
    assert_int_equal(pgy_rewrite_report_count(r), 0);
    assert_true(reads(r, "does not come from a rewrite"));
    pgy_rewrite_report_destroy(r);
    pgy_results_destroy(stored);
    pgy_tensor_map_destroy(outputs);
    pgy_model_destroy(model);
}

static void test_passes__the_reference_must_be_another_runner(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_model *model = chain_of_abs(1);
    pgy_rewrite_report *r = NULL;
    const pgy_rewrite_options o = {.size = sizeof o, .reference = "trt"};
    assert_int_equal(pgy_bisect_passes(&r, model, &o, &err), PGY_E_ARGUMENT);
    assert_null(r);
    assert_non_null(strstr(err.text, "the reference is 'trt', whose rewrites are searched"));
    pgy_model_destroy(model);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <polygraphy/bisect_rewrites.h>
#include <polygraphy/engine_runner.h>
#include <polygraphy/loader.h>

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

/* ---- Kernels --------------------------------------------------------------------------------- */

enum { LONG_SUM = 515 };

/* A product whose sums are long enough for wide kernels to round in another order. */
static pgy_model *long_sums(void)
{
    static float weights[LONG_SUM * 3];
    for (size_t i = 0; i < LONG_SUM * 3; i++) weights[i] = (float)(i * 2654435761u % 1000) / 999;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "5, 515");
    builder_floats(&b, "w", "515, 3", weights);
    builder_node(&b, "MatMul", "x w", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static pgy_tensor_map *thirds(void)
{
    pgy_error err = {0};
    pgy_tensor_map *feed = NULL;
    pgy_tensor *x = NULL;
    assert_int_equal(pgy_tensor_create(&x, PGY_F32, 2, (const int64_t[]){5, LONG_SUM}, &err), 0);
    for (size_t i = 0; i < 5 * LONG_SUM; i++)
        ((float *)pgy_tensor_data(x))[i] = 1.0f / (float)(i + 3);
    assert_int_equal(pgy_tensor_map_create(&feed, &err), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", x, &err), PGY_OK);
    return feed;
}

/* What the engine computes with the kernels of this level. */
static pgy_results *outputs_of(pgy_model *model, const pgy_tensor_map *feed, pgy_cpu_level level)
{
    const pgy_build_config config = {.size = sizeof config, .cpu_level = level};
    const pgy_backend *engine = pgy_backend_find("trt");
    pgy_error err = {0};
    pgy_model_source source = {0};
    pgy_loader *loader = NULL;
    pgy_backend_options *o = NULL;
    pgy_runner *r = NULL;
    pgy_tensor_map *made = NULL;
    pgy_results *stored = NULL;
    if (pgy_loader_from_model(&loader, model, &err) || pgy_loader_source(&source, loader, &err) ||
        pgy_backend_options_create(&o, engine, &err) ||
        pgy_engine_runner_configure(o, &config, &err) ||
        pgy_runner_create(&r, engine, &source, o, NULL, &err) || pgy_runner_activate(r, &err) ||
        pgy_runner_infer(&made, r, feed, &err) || pgy_results_create(&stored, &err) ||
        pgy_results_add_runner(stored, "portable", NULL, &err) ||
        pgy_results_add(stored, 0, made, 0, &err))
        fail_msg("%s", err.text);
    pgy_tensor_map_destroy(made);
    pgy_runner_destroy(r);
    pgy_backend_options_destroy(o);
    return stored;
}

/* Only bits are accepted that portable kernels make: no pass is to blame, the kernels are. */
static void test_passes__kernels_are_blamed_if_portable_ones_agree(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_model *model = long_sums();
    const pgy_tensor_map *feed = thirds();
    pgy_results *portable = outputs_of(model, feed, PGY_CPU_PORTABLE);
    pgy_data_loader *data = NULL;
    assert_int_equal(pgy_list_loader_create(&data, &feed, 1, &err), PGY_OK);
    pgy_where_options exact = pgy_where_options_default();
    exact.rtol = exact.atol = 0;
    const pgy_rewrite_options o = {
        .size = sizeof o, .data = data, .outputs = portable, .where = &exact};
    pgy_rewrite_report *r = search(model, &o);
    const pgy_rewrite_cause cause = pgy_rewrite_report_cause(r);
    if (cause != PGY_REWRITE_AGREES) {
        assert_int_equal(cause, PGY_REWRITE_KERNEL);
        assert_int_equal(pgy_rewrite_report_trials(r), 3);
        assert_int_equal(pgy_rewrite_report_count(r), 0);
        assert_true(reads(r, "with portable kernels the outputs agree (POLYGRAPHY_CPU=portable)"));
    }
    pgy_rewrite_report_destroy(r);
    pgy_data_loader_destroy(data);
    pgy_results_destroy(portable);
    pgy_tensor_map_destroy((pgy_tensor_map *)feed);
    pgy_model_destroy(model);
    /* a processor without wide kernels has nothing to find */
    if (cause == PGY_REWRITE_AGREES) skip();
}

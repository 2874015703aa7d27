/* SPDX-License-Identifier: Apache-2.0 */
#include "runners.h"

#include <unistd.h>

#include "base/json.h"

#define SCRATCH TEST_BINARY_DIR "/test-report-"

static void pause_ms(int ms)
{
    (void)ms;
}

/* Runs two runners, the second one with `b`, and gives the text of the report. */
static char *report(const char *path, act *b, const char *model, pgy_status expected)
{
    pgy_error err = {0};
    pgy_run_report *r = NULL;
    pgy_run_options o = pgy_run_options_default();
    pgy_runner *runners[] = {runner_of("a <&\"'> \x01", ACT(.add = 0)), runner_of("b", b)};
    o.loader = loader_of(2);
    o.reports = &path;
    o.report_count = 1;
    o.model_path = model;
    assert_int_equal(pgy_run(&r, runners, 2, &o, &err), expected);
    pgy_run_report_destroy(r);
    for (int i = 0; i < 2; i++) pgy_runner_destroy(runners[i]);
    pgy_data_loader_destroy(o.loader);
    char *text = read_text(path);
    unlink(path);
    assert_non_null(text);
    return text;
}

static json_value *parse(const char *text, arena *a)
{
    json_value *v = NULL;
    pgy_error err = {0};
    if (json_parse(&v, text, strlen(text), a, &err)) fail_msg("%s", err.text);
    return v;
}

static void test_report__json(void **state)
{
    (void)state;
    arena a = {0};
    json_value *v = parse(report(SCRATCH "r.json", ACT(.add = 1), "net.onnx", PGY_OK), &a);
    assert_string_equal(json_string(json_get(v, "format"), &a, NULL), "polygraphy-report");
    assert_string_equal(json_string(json_get(v, "model"), &a, NULL), "net.onnx");
    assert_false(json_get(v, "passed")->boolean);
    assert_true(json_get(v, "compared")->boolean);
    assert_int_equal(json_get(v, "iterations")->integer, 2);
    assert_string_equal(json_string(json_at(json_get(v, "runners"), 0), &a, NULL), "a <&\"'> \x01");
    json_value *f = json_at(json_get(v, "functions"), 0), *pair = json_at(json_get(f, "pairs"), 0);
    assert_string_equal(json_string(json_get(f, "function"), &a, NULL), "simple");
    assert_int_equal(json_get(pair, "passed")->integer, 0);
    assert_int_equal(json_get(pair, "total")->integer, 2);
    json_value *verdict = json_at(json_at(json_get(pair, "iterations"), 1), 0);
    assert_string_equal(json_string(json_get(verdict, "output"), &a, NULL), "y");
    assert_float_equal(json_get(json_get(verdict, "metrics"), "max_absdiff")->real, 1, 1e-6);
    assert_float_equal(json_get(json_get(verdict, "thresholds"), "atol")->real, 1e-5, 0);
    arena_deinit(&a);
}

static void test_report__json_of_a_pass_and_of_an_error(void **state)
{
    (void)state;
    arena a = {0};
    json_value *v = parse(report(SCRATCH "r.json", ACT(.add = 0), NULL, PGY_OK), &a);
    assert_true(json_get(v, "passed")->boolean);
    assert_string_equal(json_string(json_get(v, "reason"), &a, NULL), "");
    assert_int_equal(json_get(v, "model")->type, JSON_NULL);
    v = parse(report(SCRATCH "r.json", ACT(.error = "out of luck"), NULL, PGY_E_BACKEND), &a);
    assert_false(json_get(v, "passed")->boolean);
    assert_string_equal(json_string(json_get(v, "reason"), &a, NULL),
                        "b, iteration 0: out of luck");
    arena_deinit(&a);
}

static void test_report__junit(void **state)
{
    (void)state;
    const char *x = report(SCRATCH "r.xml", ACT(.add = 1), "net.onnx", PGY_OK);
    assert_non_null(strstr(x, "<testsuites name=\"polygraphy run\" tests=\"3\" failures=\"3\""));
    assert_non_null(strstr(x, "<testsuite name=\"simple: a &lt;&amp;&quot;&#39;&gt; \\x01 vs. "
                              "b\" tests=\"2\" failures=\"2\""));
    assert_non_null(strstr(x, "name=\"iteration 1: y\""));
    assert_non_null(strstr(x, "<failure message=\"The outputs differ by more than the tolerances "
                              "in 2 of 2 iteration(s).\"/>"));
    x = report(SCRATCH "r.xml", ACT(.add = 0), NULL, PGY_OK);
    assert_null(strstr(x, "<failure"));
    assert_non_null(strstr(x, "tests=\"3\" failures=\"0\""));
    x = report(SCRATCH "r.xml", ACT(.error = "a < b"), NULL, PGY_E_BACKEND);
    assert_non_null(strstr(x, "<failure message=\"b, iteration 0: a &lt; b\"/>"));
}

static void test_report__sarif(void **state)
{
    (void)state;
    arena a = {0};
    json_value *v = parse(report(SCRATCH "r.sarif", ACT(.add = 1), "my net.onnx", PGY_OK), &a);
    assert_string_equal(json_string(json_get(v, "version"), &a, NULL), "2.1.0");
    json_value *results = json_get(json_at(json_get(v, "runs"), 0), "results");
    assert_int_equal(results->count, 3);
    assert_string_equal(json_string(json_get(json_at(results, 0), "ruleId"), &a, NULL),
                        "run-failed");
    json_value *one = json_at(results, 2), *place = json_at(json_get(one, "locations"), 0);
    assert_string_equal(json_string(json_get(one, "ruleId"), &a, NULL), "output-mismatch");
    assert_string_equal(
        json_string(
            json_get(json_get(json_get(place, "physicalLocation"), "artifactLocation"), "uri"), &a,
            NULL),
        "my%20net.onnx");
    assert_string_equal(
        json_string(json_get(json_at(json_get(place, "logicalLocations"), 0), "name"), &a, NULL),
        "y");
    v = parse(report(SCRATCH "r.sarif", ACT(.add = 0), NULL, PGY_OK), &a);
    assert_int_equal(json_get(json_at(json_get(v, "runs"), 0), "results")->count, 0);
    arena_deinit(&a);
}

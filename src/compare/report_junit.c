/* SPDX-License-Identifier: Apache-2.0 */
/* JUnit XML: one suite with the run as a whole, then one per function and pair with a case per
 * output and iteration. A run that failed has at least one failure, whatever the reason. */
#include <string.h>

#include "base/xml.h"
#include "compare/report.h"

static void attribute(str *out, const char *name, const char *value)
{
    str_printf(out, " %s=\"", name);
    str_append_xml(out, value);
    str_append_char(out, '"');
}

static void one_case(str *out, const char *class_name, const char *name, double seconds,
                     const char *failure)
{
    str_append(out, "    <testcase");
    attribute(out, "classname", class_name);
    attribute(out, "name", name);
    str_printf(out, " time=\"%.6f\"", seconds);
    if (!failure) {
        str_append(out, "/>\n");
        return;
    }
    str_append(out, ">\n      <failure");
    attribute(out, "message", failure);
    str_append(out, "/>\n    </testcase>\n");
}

static void verdict_case(str *out, const char *class_name, size_t iteration, const pgy_verdict *v)
{
    str name = {0}, failure = {0};
    str_printf(&name, "iteration %zu: %s", iteration, v->output);
    if (!v->passed) report_describe(&failure, v);
    one_case(out, class_name, str_text(&name), 0, v->passed ? NULL : str_text(&failure));
    str_deinit(&name);
    str_deinit(&failure);
}

/* Appends the cases of a suite, and counts cases and failures. */
static void pair_cases(str *out, size_t *tests, size_t *failures, const pgy_accuracy *a, size_t p,
                       const char *name)
{
    for (size_t i = 0; i < pgy_accuracy_iteration_count(a, p); i++) {
        const pgy_verdicts *v = pgy_accuracy_at(a, p, i);
        for (size_t k = 0; k < pgy_verdicts_count(v); k++) {
            const pgy_verdict *one = pgy_verdicts_at(v, k);
            verdict_case(out, name, i, one);
            ++*tests;
            *failures += !one->passed;
        }
    }
}

static void suite(str *out, const char *name, size_t tests, size_t failures, double seconds,
                  const str *cases)
{
    str_append(out, "  <testsuite");
    attribute(out, "name", name);
    str_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\" time=\"%.6f\">\n",
               tests, failures, seconds);
    str_append_n(out, str_text(cases), cases->size);
    str_append(out, "  </testsuite>\n");
    if (cases->failed) out->failed = true;
}

static void pair_suite(str *out, size_t *tests, size_t *failures, const pgy_accuracy *a, size_t p)
{
    const char *first, *second, *label = pgy_compare_kind_label(pgy_accuracy_kind(a));
    size_t own_tests = 0, own_failures = 0;
    str name = {0}, cases = {0};
    pgy_accuracy_pair(a, p, &first, &second);
    str_printf(&name, "%s: %s vs. %s", label && *label ? label : "function", first, second);
    pair_cases(&cases, &own_tests, &own_failures, a, p, str_text(&name));
    suite(out, str_text(&name), own_tests, own_failures, 0, &cases);
    *tests += own_tests;
    *failures += own_failures;
    str_deinit(&name);
    str_deinit(&cases);
}

void report_write_junit(str *out, const run_facts *facts)
{
    double seconds = (double)facts->duration_ns / 1e9;
    size_t tests = 1, failures = !facts->passed;
    const char *model = facts->model_path ? facts->model_path : "run";
    const char *reason = facts->reason && *facts->reason ? facts->reason : "the run failed";
    str suites = {0}, cases = {0};

    one_case(&cases, model, "verdict", seconds, facts->passed ? NULL : reason);
    suite(&suites, "run", 1, failures, seconds, &cases);
    for (size_t f = 0; facts->compared && f < pgy_accuracy_results_count(facts->accuracy); f++) {
        const pgy_accuracy *a = pgy_accuracy_results_at(facts->accuracy, f);
        for (size_t p = 0; p < pgy_accuracy_pair_count(a); p++)
            pair_suite(&suites, &tests, &failures, a, p);
    }
    str_append(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    attribute(out, "name", "polygraphy run");
    str_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" time=\"%.6f\">\n", tests,
               failures, seconds);
    str_append_n(out, str_text(&suites), suites.size);
    str_append(out, "</testsuites>\n");
    if (suites.failed) out->failed = true;
    str_deinit(&suites);
    str_deinit(&cases);
}

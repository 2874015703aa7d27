/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as SARIF: one result per output that failed in an iteration, and one for the run
 * itself when it failed. The model file is the artifact, the output the logical location, so that
 * viewers group by them. */
#include "base/sarif.h"
#include "compare/report.h"

static const sarif_rule RULES[] = {
    {"output-mismatch", "Two runners disagree on an output by more than the tolerances."},
    {"run-failed", "The run failed, or its verdict is FAILED."}};
enum { MISMATCH, RUN_FAILED, RULE_COUNT };

typedef struct visitor {
    json_writer *w;
    const char *path;
} visitor;

static void mismatch(void *user, const pgy_accuracy *a, size_t pair, size_t iteration,
                     const pgy_verdict *v)
{
    const visitor *to = user;
    const char *first, *second;
    str what = {0};
    if (v->passed) return;
    pgy_accuracy_pair(a, pair, &first, &second);
    str_printf(&what, "%s vs. %s, iteration %zu, ", first, second, iteration);
    report_describe(&what, v);
    sarif_add(to->w, RULES,
              &(sarif_result){.rule = MISMATCH,
                              .level = "error",
                              .message = str_text(&what),
                              .path = to->path,
                              .name = v->output,
                              .kind = "value"});
    str_deinit(&what);
}

void report_write_sarif(json_writer *w, const run_facts *facts)
{
    visitor to = {.w = w, .path = facts->model_path};
    sarif_begin(w, RULES, RULE_COUNT);
    if (!facts->passed)
        sarif_add(w, RULES,
                  &(sarif_result){.rule = RUN_FAILED,
                                  .level = "error",
                                  .message = facts->reason && *facts->reason ? facts->reason
                                                                             : "the run failed",
                                  .path = facts->model_path});
    report_each(facts, mismatch, &to);
    sarif_end(w);
}

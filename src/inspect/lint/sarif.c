/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as SARIF. The rules are those of the checker and the lint's own; the model file is the
 * artifact, the path of the node the logical location. */
#include <string.h>

#include "base/alloc.h"
#include "base/sarif.h"
#include "inspect/lint/report.h"

static const sarif_rule OWN[] = {
    {LINT_CODE_LOAD, "The model cannot be read."},
    {LINT_CODE_RUNTIME, "A runtime refuses the model, or a node of it."},
    {LINT_CODE_DATA, "The model fails on generated data only; other data may suit it."}};
enum { OWN_COUNT = sizeof OWN / sizeof *OWN };

static size_t find_rule(const sarif_rule *rules, size_t count, const char *code)
{
    size_t i = 0;
    while (i + 1 < count && strcmp(rules[i].id, code) != 0) i++;
    return i;
}

typedef struct sarif_document {
    const lint_report *report;
    const sarif_rule *rules;
    size_t rule_count;
    const char *model;
} sarif_document;

static void write_finding(json_writer *w, const sarif_document *d, const pgy_lint_finding *f)
{
    static const char *const LEVELS[] = {"error", "warning", "note"};
    const char *where = f->node[0] ? f->node : f->value, *slash = strrchr(where, '/');
    sarif_add(w, d->rules,
              &(sarif_result){.rule = find_rule(d->rules, d->rule_count, f->code),
                              .level = LEVELS[f->level],
                              .message = f->message,
                              .path = d->model,
                              .name = !where[0] ? NULL
                                      : slash   ? slash + 1
                                                : where,
                              .full_name = where,
                              .kind = f->node[0] ? "function" : "value"});
}

static pgy_status write_document(json_writer *w, const void *user, pgy_error *err)
{
    const sarif_document *d = user;
    (void)err;
    sarif_begin(w, d->rules, d->rule_count);
    for (size_t i = 0; i < d->report->count; i++)
        if (d->report->findings[i].code) write_finding(w, d, &d->report->findings[i]);
    sarif_end(w);
    return PGY_OK;
}

pgy_status pgy_lint_save_sarif(const pgy_lint *l, const char *path, const char *model,
                               pgy_error *err)
{
    const pgy_check_rule *known;
    const size_t count = pgy_check_rule_list(&known);
    sarif_rule *rules = mem_calloc(count + OWN_COUNT, sizeof *rules);
    if (!rules) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) rules[i] = (sarif_rule){known[i].code, known[i].text};
    memcpy(rules + count, OWN, sizeof OWN);
    const sarif_document d = {&l->report, rules, count + OWN_COUNT, model};
    const pgy_status st = json_save(path, write_document, &d, err);
    mem_free(rules);
    return st;
}

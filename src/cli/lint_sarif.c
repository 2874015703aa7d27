/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as SARIF: the rules are those of the checker and three of this command; the model file
 * is the artifact, the path of the node the logical location. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/sarif.h"
#include "cli/lint.h"

static const char LOG_PATH[] = "tools/check/subtool/lint.py";

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

static void write_entries(json_writer *w, const lint_report *r, const sarif_rule *rules,
                          size_t count, const char *model)
{
    static const char *const LEVELS[] = {"error", "warning", "note"};
    for (size_t i = 0; i < r->count; i++) {
        const lint_entry *e = &r->entries[i];
        if (!e->code) continue;
        const char *where = e->node[0] ? e->node : e->value, *slash = strrchr(where, '/');
        sarif_add(w, rules,
                  &(sarif_result){.rule = find_rule(rules, count, e->code),
                                  .level = LEVELS[e->level],
                                  .message = e->message,
                                  .path = model,
                                  .name = !where[0] ? NULL
                                          : slash   ? slash + 1
                                                    : where,
                                  .full_name = where,
                                  .kind = e->node[0] ? "function" : "value"});
    }
}

pgy_status lint_report_save_sarif(const lint_report *r, const char *path, const char *model,
                                  pgy_error *err)
{
    const pgy_check_rule *known;
    const size_t count = pgy_check_rule_list(&known);
    sarif_rule *rules = mem_calloc(count + OWN_COUNT, sizeof *rules);
    json_output file = {0};
    if (!rules) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) rules[i] = (sarif_rule){known[i].code, known[i].text};
    memcpy(rules + count, OWN, sizeof OWN);
    LOG(INFO, "Saving linting report to %s", path);
    pgy_status st = json_output_open(&file, path, err);
    if (!st) {
        sarif_begin(file.json, rules, count + OWN_COUNT);
        write_entries(file.json, r, rules, count + OWN_COUNT, model);
        sarif_end(file.json);
        st = json_output_commit(&file, err);
    }
    json_output_close(&file);
    mem_free(rules);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of `run`: the file of --save-accuracy-results, and the report of --report out.json. */
#include <string.h>

#include "compare/results.h"
#include "data/array_json.h"
#include "viewer/sources/accuracy_report.h"
#include "viewer/sources/accuracy_rows.h"

static bool is_report(const json_value *json)
{
    const json_value *format = json_get(json, "format");
    return format && format->type == JSON_STRING && span_equals(format->raw, "polygraphy-report");
}

static bool accept(const char *path, span start, const json_value *json)
{
    (void)path, (void)start;
    const char *class = typed_json_class(json);
    return is_report(json) || (class && strcmp(class, "AccuracyResults") == 0);
}

static pgy_status add_pair(accuracy_rows *rows, result_file *f, const pgy_accuracy *a, size_t pair,
                           pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < pgy_accuracy_iteration_count(a, pair); i++) {
        const pgy_verdicts *verdicts = pgy_accuracy_at(a, pair, i);
        for (size_t k = 0; !st && k < pgy_verdicts_count(verdicts); k++) {
            const pgy_verdict *v = pgy_verdicts_at(verdicts, k);
            accuracy_row *row = NULL;
            st = accuracy_row_get(&row, rows, f, v->output, err);
            if (!st) accuracy_row_add_verdict(row, v);
        }
    }
    return st;
}

static pgy_status summarise_pair(result_file *f, const pgy_accuracy *a, size_t pair, pgy_error *err)
{
    const char *first, *second;
    size_t passed, total;
    str name = {0};
    pgy_accuracy_pair(a, pair, &first, &second);
    pgy_accuracy_stats(a, pair, &passed, &total);
    str_printf(&name, "%s vs. %s", first, second);
    pgy_status st = result_summary(f, "Accuracy", str_text(&name), err, "%s: %zu of %zu %s passed",
                                   pgy_compare_kind_label(pgy_accuracy_kind(a)), passed, total,
                                   pgy_accuracy_is_average(a) ? "outputs" : "iterations");
    str_deinit(&name);
    return st;
}

/* One line for all outputs if they have the same thresholds. */
static pgy_status summarise_tolerances(const accuracy_rows *rows, result_file *f, pgy_error *err)
{
    const char *common = NULL;
    bool is_common = true;
    for (size_t i = 0; i < rows->by_name.count; i++) {
        const accuracy_row *row = rows->by_name.entries[i].value;
        if (common && strcmp(common, str_text(&row->tolerance)) != 0) is_common = false;
        common = str_text(&row->tolerance);
    }
    if (!common || !*common) return PGY_OK;
    return result_summary(f, "Accuracy", "tolerance", err, "%s",
                          is_common ? common : "several: see the table of errors");
}

static pgy_status add_all(accuracy_rows *rows, result_file *f, const pgy_accuracy_results *r,
                          pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < pgy_accuracy_results_count(r); i++) {
        const pgy_accuracy *a = pgy_accuracy_results_at(r, i);
        for (size_t pair = 0; !st && pair < pgy_accuracy_pair_count(a); pair++) {
            st = add_pair(rows, f, a, pair, err);
            if (!st) st = summarise_pair(f, a, pair, err);
        }
    }
    if (!st) st = accuracy_rows_finish(rows, f, true, err);
    if (!st) st = summarise_tolerances(rows, f, err);
    for (size_t i = 0; !st && i < pgy_accuracy_results_failure_count(r); i++) {
        const char *failure = pgy_accuracy_results_failure(r, i);
        st = result_summary(f, "Accuracy", "failure", err, "%s", failure);
        if (!st) st = result_judge(f, false, false, failure, err);
    }
    return st;
}

static pgy_status add(pgy_page *p, const char *path, pgy_error *err)
{
    result_file f;
    accuracy_rows rows = {0};
    pgy_accuracy_results *r = NULL;
    pgy_status st = result_open_json(&f, p, path, err);
    if (!st)
        st = is_report(f.json.root) ? accuracy_report_read(&r, &f, err)
                                    : accuracy_json_read(&r, &f.json, err);
    if (!st) st = add_all(&rows, &f, r, err);
    pgy_accuracy_results_destroy(r);
    accuracy_rows_deinit(&rows);
    result_close(&f);
    return st;
}

const view_source view_source_accuracy = {
    "accuracy", "verdicts of run (--save-accuracy-results, --report)", accept, add};

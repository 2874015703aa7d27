/* SPDX-License-Identifier: Apache-2.0 */
/* Machine-readable reports: chooses the format, writes the file, and has the project's own JSON
 * format, the most complete one. JUnit and SARIF are in report_junit.c and report_sarif.c. */
#include "compare/report.h"

#include <math.h>
#include <string.h>

#include "compare/run.h"

enum { JSON_VERSION = 1 };

static const struct {
    const char *extension;
    void (*write_json)(json_writer *, const run_facts *);
    void (*write_text)(str *, const run_facts *);
} FORMATS[] = {{".json", report_write_json, NULL},
               {".sarif", report_write_sarif, NULL},
               {".xml", NULL, report_write_junit}};
enum { FORMAT_COUNT = sizeof FORMATS / sizeof *FORMATS };

static int format_of(const char *path)
{
    int i = 0;
    while (i < FORMAT_COUNT && !str_equal_nocase(path_extension(path), FORMATS[i].extension)) i++;
    return i;
}

pgy_status report_check_path(const char *path, pgy_error *err)
{
    if (format_of(path) < FORMAT_COUNT) return PGY_OK;
    return pgy_error_set(
        err, PGY_E_ARGUMENT,
        "run.reports %s: unknown extension; expected .json, .xml (JUnit) or .sarif", path);
}

static pgy_status write_json_file(const char *path, void (*write)(json_writer *, const run_facts *),
                                  const run_facts *facts, pgy_error *err)
{
    json_output file = {0};
    pgy_status st = json_output_open(&file, path, err);
    if (st) return st;
    write(file.json, facts);
    st = json_output_commit(&file, err);
    json_output_close(&file);
    return st;
}

pgy_status report_write(const char *path, const run_facts *facts, pgy_error *err)
{
    int format = format_of(path);
    if (format == FORMAT_COUNT) return report_check_path(path, err);
    if (FORMATS[format].write_json)
        return write_json_file(path, FORMATS[format].write_json, facts, err);
    str text = {0};
    FORMATS[format].write_text(&text, facts);
    pgy_status st = text.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                                : file_write_all(path, str_text(&text), text.size, err);
    str_deinit(&text);
    return st;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* JSON has no NaN or infinity, so the report has the texts "nan", "inf" and "-inf". */
static void number(json_writer *w, const char *key, double v)
{
    json_key(w, key);
    if (isfinite(v))
        json_real(w, v);
    else
        json_text(w, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

static void setting(json_writer *w, const char *key, pgy_number v)
{
    if (v.is_integer)
        json_put_int(w, key, v.integer);
    else
        number(w, key, v.real);
}

static void simple_metrics(json_writer *w, const pgy_verdict *v)
{
    const struct {
        const char *key;
        double value;
    } METRICS[] = {
        {"max_absdiff", v->max_absdiff},           {"max_reldiff", v->max_reldiff},
        {"mean_absdiff", v->mean_absdiff},         {"mean_reldiff", v->mean_reldiff},
        {"median_absdiff", v->median_absdiff},     {"median_reldiff", v->median_reldiff},
        {"quantile_absdiff", v->quantile_absdiff}, {"quantile_reldiff", v->quantile_reldiff}};
    size_t count = sizeof METRICS / sizeof *METRICS - (v->has_quantile ? 0 : 2);
    json_key(w, "metrics");
    json_begin_object(w);
    for (size_t i = 0; i < count; i++) number(w, METRICS[i].key, METRICS[i].value);
    json_end_object(w);
    json_key(w, "thresholds");
    json_begin_object(w);
    json_put_text(w, "check_error_stat", pgy_error_stat_name(v->stat));
    setting(w, "atol", v->atol);
    setting(w, "rtol", v->rtol);
    json_end_object(w);
}

static void one_metric(json_writer *w, const pgy_verdict *v)
{
    json_key(w, "metrics");
    json_begin_object(w);
    number(w, "value", v->metric);
    json_end_object(w);
    json_key(w, "thresholds");
    json_begin_object(w);
    setting(w, "threshold", v->threshold);
    json_end_object(w);
}

static void verdict(json_writer *w, const pgy_verdict *v)
{
    json_begin_object(w);
    json_put_text(w, "output", v->output);
    json_put_bool(w, "passed", v->passed);
    if (v->kind == PGY_COMPARE_LPIPS) json_put_bool(w, "verified", v->verified);
    if (v->has_metrics) (v->kind == PGY_COMPARE_SIMPLE ? simple_metrics : one_metric)(w, v);
    json_end_object(w);
}

static void pair(json_writer *w, const pgy_accuracy *a, size_t p)
{
    const char *first, *second;
    size_t passed, total;
    pgy_accuracy_pair(a, p, &first, &second);
    pgy_accuracy_stats(a, p, &passed, &total);
    json_begin_object(w);
    json_put_text(w, "first", first);
    json_put_text(w, "second", second);
    json_put_uint(w, "passed", passed);
    json_put_uint(w, "total", total);
    json_key(w, "iterations");
    json_begin_array(w);
    for (size_t i = 0; i < pgy_accuracy_iteration_count(a, p); i++) {
        const pgy_verdicts *v = pgy_accuracy_at(a, p, i);
        json_begin_array(w);
        for (size_t k = 0; k < pgy_verdicts_count(v); k++) verdict(w, pgy_verdicts_at(v, k));
        json_end_array(w);
    }
    json_end_array(w);
    json_end_object(w);
}

static void function(json_writer *w, const pgy_accuracy *a)
{
    json_begin_object(w);
    json_put_text(w, "function", pgy_compare_kind_label(pgy_accuracy_kind(a)));
    json_put_bool(w, "average", pgy_accuracy_is_average(a));
    json_put_bool(w, "passed", pgy_accuracy_passed(a));
    json_key(w, "pairs");
    json_begin_array(w);
    for (size_t p = 0; p < pgy_accuracy_pair_count(a); p++) pair(w, a, p);
    json_end_array(w);
    json_end_object(w);
}

/* Lists all reasons to fail that no verdict contains. The member "reason" is the first reason of
 * the run. */
static void failures(json_writer *w, const run_facts *facts)
{
    json_key(w, "failures");
    json_begin_array(w);
    for (size_t i = 0; facts->accuracy && i < pgy_accuracy_results_failure_count(facts->accuracy);
         i++)
        json_text(w, pgy_accuracy_results_failure(facts->accuracy, i));
    json_end_array(w);
}

static void milliseconds(json_writer *w, double seconds)
{
    if (isfinite(seconds))
        json_real(w, seconds * 1e3);
    else
        json_null(w);
}

static void times(json_writer *w, const run_times *t, const char *key, bool preparation)
{
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; t && i < t->count; i++)
        milliseconds(w, preparation ? t->items[i].preparation_s : t->items[i].whole_s);
    json_end_array(w);
}

/* The times of all inferences of this run, in the order of the runners. */
static void all_times(json_writer *w, const run_facts *facts)
{
    json_key(w, "times");
    json_begin_array(w);
    for (size_t i = 0; i < facts->runner_count; i++) {
        const run_times *t = facts->times ? &facts->times[i] : NULL;
        json_begin_object(w);
        json_put_text(w, "runner", facts->runner_names[i]);
        times(w, t, "ms", false);
        times(w, t, "preparation_ms", true);
        json_end_object(w);
    }
    json_end_array(w);
}

void report_write_json(json_writer *w, const run_facts *facts)
{
    json_begin_object(w);
    json_put_text(w, "format", "polygraphy-report");
    json_put_int(w, "version", JSON_VERSION);
    json_put_text(w, "tool", "polygraphy " PGY_VERSION);
    json_put_text(w, "model", facts->model_path);
    json_put_bool(w, "passed", facts->passed);
    json_put_text(w, "reason", facts->reason);
    failures(w, facts);
    json_put_bool(w, "compared", facts->compared);
    json_put_uint(w, "iterations", facts->iteration_count);
    number(w, "duration_s", (double)facts->duration_ns / 1e9);
    json_key(w, "runners");
    json_begin_array(w);
    for (size_t i = 0; i < facts->runner_count; i++) json_text(w, facts->runner_names[i]);
    json_end_array(w);
    all_times(w, facts);
    json_key(w, "functions");
    json_begin_array(w);
    for (size_t f = 0; facts->compared && f < pgy_accuracy_results_count(facts->accuracy); f++)
        function(w, pgy_accuracy_results_at(facts->accuracy, f));
    json_end_array(w);
    json_end_object(w);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON report of `run --report` as accuracy results. */
#include "viewer/sources/accuracy_report.h"

#include <string.h>

#include "compare/judge.h"

static pgy_status refuse(const json_value *at, const char *expected, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_FORMAT, "line %u, column %u: %s is expected", at ? at->line : 1,
                         at ? at->column : 1, expected);
}

static pgy_number number_of(const json_value *object, const char *key)
{
    const json_value *v = json_get(object, key);
    return (pgy_number){.is_integer = v && v->type == JSON_INT,
                        .integer = v && v->type == JSON_INT ? v->integer : 0,
                        .real = result_number(object, key)};
}

static pgy_status read_verdict(pgy_verdicts *to, result_file *f, pgy_compare_kind kind,
                               const json_value *v, pgy_error *err)
{
    const json_value *metrics = json_get(v, "metrics"), *limits = json_get(v, "thresholds");
    const char *output = result_text(f, v, "output"),
               *stat = result_text(f, limits, "check_error_stat");
    if (!output) return refuse(v, "a verdict with the member 'output'", err);
    pgy_verdict verdict = {.output = (char *)output,
                           .kind = kind,
                           .passed = result_bool(v, "passed"),
                           .has_metrics = metrics && limits,
                           .verified = !json_get(v, "verified") || result_bool(v, "verified"),
                           .max_absdiff = result_number(metrics, "max_absdiff"),
                           .max_reldiff = result_number(metrics, "max_reldiff"),
                           .mean_absdiff = result_number(metrics, "mean_absdiff"),
                           .mean_reldiff = result_number(metrics, "mean_reldiff"),
                           .median_absdiff = result_number(metrics, "median_absdiff"),
                           .median_reldiff = result_number(metrics, "median_reldiff"),
                           .metric = result_number(metrics, "value"),
                           .atol = number_of(limits, "atol"),
                           .rtol = number_of(limits, "rtol"),
                           .threshold = number_of(limits, "threshold")};
    if (stat && pgy_error_stat_from_name(&verdict.stat, stat, err)) return PGY_E_FORMAT;
    return verdicts_put(to, &verdict, err);
}

static pgy_status read_pair(pgy_accuracy *a, result_file *f, const json_value *v, pgy_error *err)
{
    const char *first = result_text(f, v, "first"), *second = result_text(f, v, "second");
    const json_value *iterations = json_get(v, "iterations");
    size_t pair;
    if (!first || !second || !iterations || iterations->type != JSON_ARRAY)
        return refuse(v, "a pair with 'first', 'second' and 'iterations'", err);
    pgy_status st = accuracy_add_pair(&pair, a, first, second, err);
    for (const json_value *it = iterations->first; !st && it; it = it->next) {
        pgy_verdicts *verdicts;
        st = accuracy_add_iteration(&verdicts, a, pair, err);
        for (const json_value *c = it->first; !st && c; c = c->next)
            st = read_verdict(verdicts, f, pgy_accuracy_kind(a), c, err);
    }
    return st;
}

/* Reports name functions as `run --compare` does; a function of the user has no known name. */
static pgy_compare_kind kind_named(const char *name)
{
    for (int kind = PGY_COMPARE_SIMPLE; kind < PGY_COMPARE_CALLBACK; kind++)
        if (strcmp(pgy_compare_kind_label((pgy_compare_kind)kind), name) == 0)
            return (pgy_compare_kind)kind;
    pgy_compare_kind kind;
    return pgy_compare_kind_from_name(&kind, name) ? kind : PGY_COMPARE_CALLBACK;
}

static pgy_status read_function(pgy_accuracy_results *r, result_file *f, const json_value *v,
                                pgy_error *err)
{
    const char *name = result_text(f, v, "function");
    const json_value *pairs = json_get(v, "pairs");
    pgy_accuracy *a;
    if (!name || !pairs || pairs->type != JSON_ARRAY)
        return refuse(v, "a function with 'function' and 'pairs'", err);
    pgy_status st = accuracy_add(&a, r, kind_named(name), result_bool(v, "average"), err);
    for (const json_value *pair = pairs->first; !st && pair; pair = pair->next)
        st = read_pair(a, f, pair, err);
    return st;
}

static pgy_status read_all(pgy_accuracy_results *r, result_file *f, pgy_error *err)
{
    const json_value *functions = json_get(f->json.root, "functions");
    const json_value *failures = json_get(f->json.root, "failures");
    pgy_status st = PGY_OK;
    if (!functions || functions->type != JSON_ARRAY)
        return refuse(f->json.root, "a report with the list 'functions'", err);
    for (const json_value *v = functions->first; !st && v; v = v->next)
        st = read_function(r, f, v, err);
    for (const json_value *v = failures ? failures->first : NULL; !st && v; v = v->next) {
        const char *text = v->type == JSON_STRING ? json_string(v, &f->json.memory, NULL) : NULL;
        if (!text) return refuse(v, "a failure that is a text", err);
        if (!accuracy_add_failure(r, text))
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for a report");
    }
    return st;
}

pgy_status accuracy_report_read(pgy_accuracy_results **out, result_file *f, pgy_error *err)
{
    pgy_accuracy_results *r = NULL;
    pgy_status st = accuracy_results_create(&r, err);
    if (!st) st = read_all(r, f, err);
    if (st)
        pgy_accuracy_results_destroy(r);
    else
        *out = r;
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reading accuracy results from JSON. The file keeps metrics and thresholds, and the reader forms
 * the verdicts again from them. It takes elementwise verdicts as saved, because metrics do not
 * determine them. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "compare/accuracy_json.h"
#include "compare/judge.h"
#include "compare/results.h"
#include "data/array_json.h"

static const char LOG_PATH[] = "json/serde.py";

const verdict_class VERDICT_CLASSES[VERDICT_CLASS_COUNT] = {
    {PGY_COMPARE_SIMPLE, "OutputCompareResult", NULL, "SimpleThreshold"},
    {PGY_COMPARE_L2, "L2Result", "l2_norm", "L2Threshold"},
    {PGY_COMPARE_COSINE_SIMILARITY, "CosineSimilarityResult", "cosine_similarity",
     "CosineSimilarityThreshold"},
    {PGY_COMPARE_PSNR, "PsnrResult", "psnr", "PsnrThreshold"},
    {PGY_COMPARE_SNR, "SnrResult", "snr", "SnrThreshold"},
    {PGY_COMPARE_LPIPS, "PerceptualMetricsResult", "lpips", "LpipsThreshold"},
};

#define FIELD(name)                        \
    {                                      \
#name, offsetof(pgy_verdict, name) \
    }
const metric_field METRIC_FIELDS[METRIC_FIELD_COUNT] = {
    FIELD(max_absdiff),    FIELD(max_reldiff),    FIELD(mean_absdiff),     FIELD(mean_reldiff),
    FIELD(median_absdiff), FIELD(median_reldiff), FIELD(quantile_absdiff), FIELD(quantile_reldiff)};

static pgy_status bad_place(const json_file *f, const json_value *v, const char *what,
                            pgy_error *err)
{
    return pgy_error_set(err, PGY_E_FORMAT, "%s: line %u column %u: %s", f->path, v->line,
                         v->column, what);
}

static bool is_number(const json_value *v)
{
    return v && (v->type == JSON_INT || v->type == JSON_REAL);
}

static pgy_status read_number(pgy_number *out, const json_value *object, const char *key,
                              const json_file *f, pgy_error *err)
{
    const json_value *v = json_get(object, key);
    if (!is_number(v))
        return pgy_error_set(err, PGY_E_FORMAT, "%s: line %u: '%s' is missing or not a number",
                             f->path, object->line, key);
    *out = (pgy_number){.is_integer = v->type == JSON_INT,
                        .integer = v->type == JSON_INT ? v->integer : 0,
                        .real = v->real};
    return PGY_OK;
}

static pgy_status read_simple_metrics(pgy_verdict *out, const json_value *v, const json_file *f,
                                      pgy_error *err)
{
    out->has_quantile = is_number(json_get(v, METRIC_FIELDS[FIRST_QUANTILE].name));
    for (size_t i = 0; i < METRIC_FIELD_COUNT; i++) {
        double *to = (double *)((char *)out + METRIC_FIELDS[i].offset);
        const json_value *given = json_get(v, METRIC_FIELDS[i].name);
        pgy_number n;
        if (i >= FIRST_QUANTILE && given && given->type == JSON_NULL) {
            *to = NAN; /* an output with this metric fails */
            continue;
        }
        pgy_status st = read_number(&n, v, METRIC_FIELDS[i].name, f, err);
        if (st) return st;
        *to = n.real;
    }
    return PGY_OK;
}

static pgy_status read_simple_threshold(pgy_verdict *out, const json_value *v,
                                        const json_value *limits, json_file *f, pgy_error *err)
{
    const json_value *stat = json_get(limits, "check_error_stat"), *passed = json_get(v, "passed");
    const char *name =
        stat && stat->type == JSON_STRING ? json_string(stat, &f->memory, NULL) : NULL;
    if (!name) return bad_place(f, limits, "expected 'check_error_stat' in a SimpleThreshold", err);
    pgy_status st = pgy_error_stat_from_name(&out->stat, name, err);
    if (st) return pgy_error_prefix(err, PGY_E_FORMAT, "%s: line %u: ", f->path, limits->line);
    st = read_number(&out->atol, limits, "atol", f, err);
    if (!st) st = read_number(&out->rtol, limits, "rtol", f, err);
    if (st) return st;
    if (passed && passed->type == JSON_BOOL)
        out->passed = passed->boolean;
    else if (out->stat == PGY_STAT_ELEMWISE)
        return bad_place(f, v, "expected the verdict 'passed' in an elementwise comparison", err);
    return PGY_OK;
}

static pgy_status read_metric(pgy_verdict *out, const json_value *v, const verdict_class *c,
                              const json_value *limits, const json_file *f, pgy_error *err)
{
    pgy_number metric = {.real = NAN};
    const json_value *given = json_get(v, c->metric);
    out->verified = !(c->kind == PGY_COMPARE_LPIPS && given && given->type == JSON_NULL);
    pgy_status st = out->verified ? read_number(&metric, v, c->metric, f, err) : PGY_OK;
    if (!st) st = read_number(&out->threshold, limits, "threshold", f, err);
    out->metric = metric.real;
    return st;
}

static const verdict_class *class_named(const char *name)
{
    for (size_t i = 0; name && i < VERDICT_CLASS_COUNT; i++)
        if (!strcmp(VERDICT_CLASSES[i].result, name)) return &VERDICT_CLASSES[i];
    return NULL;
}

/* Reads a verdict, except its output's name. A plain true or false becomes a verdict without
 * metrics, whose kind the caller sets. */
static pgy_status read_verdict(pgy_verdict *out, const json_value *v, json_file *f, pgy_error *err)
{
    if (v->type == JSON_BOOL) {
        *out = (pgy_verdict){.kind = PGY_COMPARE_CALLBACK, .passed = v->boolean, .verified = true};
        return PGY_OK;
    }
    const verdict_class *c = class_named(typed_json_class(v));
    if (!c)
        return bad_place(f, v, "expected a verdict: true, false or the result of a comparison",
                         err);
    const json_value *limits = json_get(v, "thresholds");
    pgy_status st = typed_json_expect(limits, c->threshold, f->path, err);
    if (st) return st;
    *out = (pgy_verdict){.kind = c->kind, .has_metrics = true, .verified = true};
    if (c->metric) {
        st = read_metric(out, v, c, limits, f, err);
    } else {
        st = read_simple_metrics(out, v, f, err);
        if (!st) st = read_simple_threshold(out, v, limits, f, err);
    }
    if (!st) verdict_judge(out);
    return st;
}

static pgy_status read_iteration(pgy_verdicts *to, const json_value *v, pgy_compare_kind kind,
                                 json_file *f, pgy_error *err)
{
    if (v->type != JSON_OBJECT)
        return bad_place(f, v, "expected an object of verdicts by output name", err);
    for (const json_value *c = v->first; c; c = c->next) {
        pgy_verdict verdict;
        pgy_status st = read_verdict(&verdict, c, f, err);
        if (st) return st;
        if (!verdict.has_metrics) verdict.kind = kind;
        verdict.output = arena_strndup(&f->memory, c->key.data, c->key.size);
        if (!verdict.output) return pgy_error_set(err, PGY_E_MEMORY, "%s: out of memory", f->path);
        st = verdicts_put(to, &verdict, err);
        if (st) return st;
    }
    return PGY_OK;
}

/* Reads a pair: [[name of first runner, name of second], [iterations]]. */
static pgy_status read_pair(pgy_accuracy *a, const json_value *v, json_file *f, pgy_error *err)
{
    size_t pair;
    const json_value *names = v->type == JSON_ARRAY && v->count == 2 ? v->first : NULL;
    if (!names || names->type != JSON_ARRAY || names->count != 2 ||
        names->first->type != JSON_STRING || names->first->next->type != JSON_STRING ||
        names->next->type != JSON_ARRAY)
        return bad_place(f, v, "expected [[runner name, runner name], [iterations]]", err);
    const char *first = json_string(names->first, &f->memory, NULL),
               *second = json_string(names->first->next, &f->memory, NULL);
    if (!first || !second) return pgy_error_set(err, PGY_E_MEMORY, "%s: out of memory", f->path);
    pgy_status st = accuracy_add_pair(&pair, a, first, second, err);
    for (const json_value *it = names->next->first; !st && it; it = it->next) {
        pgy_verdicts *verdicts;
        st = accuracy_add_iteration(&verdicts, a, pair, err);
        if (!st) st = read_iteration(verdicts, it, pgy_accuracy_kind(a), f, err);
    }
    return st;
}

/* The first verdict with metrics tells which function it was. A function without metrics gave plain
 * verdicts. */
static pgy_compare_kind kind_of(const json_value *lst)
{
    for (const json_value *pair = lst->first; pair; pair = pair->next) {
        const json_value *iterations = json_at(pair, 1);
        for (const json_value *it = iterations ? iterations->first : NULL; it; it = it->next)
            for (const json_value *v = it->first; v; v = v->next) {
                const verdict_class *c = class_named(typed_json_class(v));
                if (c) return c->kind;
            }
    }
    return PGY_COMPARE_CALLBACK;
}

static pgy_status read_function(pgy_accuracy_results *r, const json_value *v, json_file *f,
                                pgy_error *err)
{
    pgy_status st = typed_json_expect(v, "AccuracyResult", f->path, err);
    if (st) return st;
    const json_value *lst = json_get(v, "lst"), *mode = json_get(v, "aggregation");
    if (!lst || lst->type != JSON_ARRAY)
        return bad_place(f, v, "expected a list 'lst' in an AccuracyResult", err);
    bool average = mode && mode->type == JSON_STRING && span_equals(mode->raw, "average");
    if (!average && !(mode && mode->type == JSON_STRING && span_equals(mode->raw, "per_sample")))
        return bad_place(f, v, "'aggregation' is neither 'per_sample' nor 'average'", err);
    pgy_accuracy *a;
    st = accuracy_add(&a, r, kind_of(lst), average, err);
    for (const json_value *pair = lst->first; !st && pair; pair = pair->next)
        st = read_pair(a, pair, f, err);
    return st;
}

/* Reads the reasons to fail that no verdict contains. Files of the original have no such list. */
static pgy_status read_failures(pgy_accuracy_results *r, const json_value *list, json_file *f,
                                pgy_error *err)
{
    if (!list) return PGY_OK;
    if (list->type != JSON_ARRAY) return bad_place(f, list, "'failures' is no list", err);
    for (const json_value *v = list->first; v; v = v->next) {
        if (v->type != JSON_STRING) return bad_place(f, v, "a failure is no text", err);
        const char *text = json_string(v, &f->memory, NULL);
        if (!text || !accuracy_add_failure(r, text))
            return pgy_error_set(err, PGY_E_MEMORY, "%s: out of memory", f->path);
    }
    return PGY_OK;
}

static pgy_status note_empty(pgy_accuracy_results *r, const pgy_accuracy *a, size_t pair,
                             json_file *f, pgy_error *err)
{
    const char *first, *second;
    size_t count = pgy_accuracy_iteration_count(a, pair), empty = 0;
    for (size_t i = 0; i < count; i++) empty += !pgy_verdicts_count(pgy_accuracy_at(a, pair, i));
    if (count && !empty) return PGY_OK;
    pgy_accuracy_pair(a, pair, &first, &second);
    const char *text =
        arena_printf(&f->memory, "%s vs. %s: nothing was compared in %zu of %zu iteration(s).",
                     first, second, empty, count);
    if (text && accuracy_add_failure(r, text)) return PGY_OK;
    return pgy_error_set(err, PGY_E_MEMORY, "%s: out of memory", f->path);
}

/* In a pair without iterations, or an iteration without verdicts, nothing was compared. That is a
 * failure, unless the file already lists failures. */
static pgy_status note_gaps(pgy_accuracy_results *r, json_file *f, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (pgy_accuracy_results_failure_count(r)) return PGY_OK;
    for (size_t i = 0; !st && i < pgy_accuracy_results_count(r); i++) {
        const pgy_accuracy *a = pgy_accuracy_results_at(r, i);
        for (size_t p = 0; !st && p < pgy_accuracy_pair_count(a); p++)
            st = note_empty(r, a, p, f, err);
    }
    return st;
}

static pgy_status read_results(pgy_accuracy_results *r, json_file *f, pgy_error *err)
{
    pgy_status st = typed_json_expect(f->root, "AccuracyResults", f->path, err);
    if (st) return st;
    const json_value *lst = json_get(f->root, "lst");
    if (!lst || lst->type != JSON_ARRAY)
        return bad_place(f, f->root, "expected a list 'lst' in AccuracyResults", err);
    for (const json_value *v = lst->first; !st && v; v = v->next) st = read_function(r, v, f, err);
    if (!st) st = read_failures(r, json_get(f->root, "failures"), f, err);
    return st ? st : note_gaps(r, f, err);
}

pgy_status accuracy_json_read(pgy_accuracy_results **out, json_file *file, pgy_error *err)
{
    pgy_accuracy_results *r = NULL;
    pgy_status st = accuracy_results_create(&r, err);
    if (!st) st = read_results(r, file, err);
    if (st) {
        pgy_accuracy_results_destroy(r);
        return st;
    }
    *out = r;
    return PGY_OK;
}

pgy_status pgy_accuracy_results_load(pgy_accuracy_results **out, const char *path, pgy_error *err)
{
    json_file file;
    LOG(INFO, "Loading accuracy results from %s", path);
    pgy_status st = json_file_open(&file, path, err);
    if (st) return st;
    st = accuracy_json_read(out, &file, err);
    json_file_close(&file);
    return st;
}

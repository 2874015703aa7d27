/* SPDX-License-Identifier: Apache-2.0 */
/* Accuracy results as JSON (semantics 1.8a): the bytes that the original writes. The file keeps
 * metrics and thresholds; verdicts are formed again when it is read, except elementwise ones, which
 * metrics cannot tell. Its pairs are keyed by name, so pairs of equal names are written as one,
 * with the iterations of all. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "compare/judge.h"
#include "compare/results.h"
#include "data/array_json.h"

static const char LOG_PATH[] = "json/serde.py";

typedef struct verdict_class {
    pgy_compare_kind kind;
    const char *result, *metric, *threshold;
} verdict_class;
static const verdict_class CLASSES[] = {
    {PGY_COMPARE_SIMPLE, "OutputCompareResult", NULL, "SimpleThreshold"},
    {PGY_COMPARE_L2, "L2Result", "l2_norm", "L2Threshold"},
    {PGY_COMPARE_COSINE_SIMILARITY, "CosineSimilarityResult", "cosine_similarity",
     "CosineSimilarityThreshold"},
    {PGY_COMPARE_PSNR, "PsnrResult", "psnr", "PsnrThreshold"},
    {PGY_COMPARE_SNR, "SnrResult", "snr", "SnrThreshold"},
    {PGY_COMPARE_LPIPS, "PerceptualMetricsResult", "lpips", "LpipsThreshold"},
};
enum { CLASS_COUNT = sizeof CLASSES / sizeof *CLASSES };

/* The numbers of a simple comparison in their order in files; the last two may be null. */
typedef struct metric_field {
    const char *name;
    size_t offset;
} metric_field;
#define FIELD(name)                        \
    {                                      \
#name, offsetof(pgy_verdict, name) \
    }
static const metric_field FIELDS[] = {
    FIELD(max_absdiff),    FIELD(max_reldiff),    FIELD(mean_absdiff),     FIELD(mean_reldiff),
    FIELD(median_absdiff), FIELD(median_reldiff), FIELD(quantile_absdiff), FIELD(quantile_reldiff)};
enum { FIELD_COUNT = sizeof FIELDS / sizeof *FIELDS, FIRST_QUANTILE = FIELD_COUNT - 2 };

/* ---- Reading ---- */

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
        return pgy_error_set(err, PGY_E_FORMAT, "%s: line %u: '%s' is missing or no number",
                             f->path, object->line, key);
    *out = (pgy_number){.is_integer = v->type == JSON_INT,
                        .integer = v->type == JSON_INT ? v->integer : 0,
                        .real = v->real};
    return PGY_OK;
}

static pgy_status read_simple_metrics(pgy_verdict *out, const json_value *v, const json_file *f,
                                      pgy_error *err)
{
    out->has_quantile = is_number(json_get(v, FIELDS[FIRST_QUANTILE].name));
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        double *to = (double *)((char *)out + FIELDS[i].offset);
        const json_value *given = json_get(v, FIELDS[i].name);
        pgy_number n;
        if (i >= FIRST_QUANTILE && given && given->type == JSON_NULL) {
            *to = NAN; /* judged by it, an output fails */
            continue;
        }
        pgy_status st = read_number(&n, v, FIELDS[i].name, f, err);
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
    if (!name) return bad_place(f, limits, "a SimpleThreshold without 'check_error_stat'", err);
    pgy_status st = pgy_error_stat_from_name(&out->stat, name, err);
    if (st) return pgy_error_prefix(err, PGY_E_FORMAT, "%s: line %u: ", f->path, limits->line);
    st = read_number(&out->atol, limits, "atol", f, err);
    if (!st) st = read_number(&out->rtol, limits, "rtol", f, err);
    if (st) return st;
    if (passed && passed->type == JSON_BOOL)
        out->passed = passed->boolean;
    else if (out->stat == PGY_STAT_ELEMWISE)
        return bad_place(f, v, "an elementwise comparison without its verdict 'passed'", err);
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
    for (size_t i = 0; name && i < CLASS_COUNT; i++)
        if (!strcmp(CLASSES[i].result, name)) return &CLASSES[i];
    return NULL;
}

/* Everything but the output's name; plain true and false get the kind that the function has so far.
 */
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
        return bad_place(f, v, "an iteration is an object of verdicts by output", err);
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

/* [[first, second], [iterations]] */
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

/* The function is told by its first verdict with metrics; without any it was one of plain verdicts.
 */
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
        return bad_place(f, v, "an AccuracyResult without a list 'lst'", err);
    bool average = mode && mode->type == JSON_STRING && span_equals(mode->raw, "average");
    if (!average && !(mode && mode->type == JSON_STRING && span_equals(mode->raw, "per_sample")))
        return bad_place(f, v, "'aggregation' is neither 'per_sample' nor 'average'", err);
    pgy_accuracy *a;
    st = accuracy_add(&a, r, kind_of(lst), average, err);
    for (const json_value *pair = lst->first; !st && pair; pair = pair->next)
        st = read_pair(a, pair, f, err);
    return st;
}

static pgy_status read_results(pgy_accuracy_results *r, json_file *f, pgy_error *err)
{
    pgy_status st = typed_json_expect(f->root, "AccuracyResults", f->path, err);
    if (st) return st;
    const json_value *lst = json_get(f->root, "lst");
    if (!lst || lst->type != JSON_ARRAY)
        return bad_place(f, f->root, "AccuracyResults without a list 'lst'", err);
    for (const json_value *v = lst->first; !st && v; v = v->next) st = read_function(r, v, f, err);
    return st;
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

/* ---- Writing ---- */

static void write_number(json_writer *w, const char *key, pgy_number n)
{
    json_key(w, key);
    if (n.is_integer)
        json_int(w, n.integer);
    else
        json_real(w, n.real);
}

static void write_class(json_writer *w, const char *name)
{
    json_put_text(w, "polygraphy_class", name);
    json_end_object(w);
}

static void write_simple(json_writer *w, const pgy_verdict *v)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        json_key(w, FIELDS[i].name);
        if (i >= FIRST_QUANTILE && !v->has_quantile)
            json_null(w);
        else
            json_real(w, *(const double *)((const char *)v + FIELDS[i].offset));
    }
    json_key(w, "thresholds");
    json_begin_object(w);
    json_put_text(w, "check_error_stat", pgy_error_stat_name(v->stat));
    write_number(w, "atol", v->atol);
    write_number(w, "rtol", v->rtol);
    write_class(w, "SimpleThreshold");
    json_key(w, "passed");
    if (v->stat == PGY_STAT_ELEMWISE)
        json_bool(w, v->passed);
    else
        json_null(w);
}

static void write_verdict(json_writer *w, const pgy_verdict *v)
{
    const verdict_class *c = NULL;
    for (size_t i = 0; i < CLASS_COUNT && v->has_metrics; i++)
        if (CLASSES[i].kind == v->kind) c = &CLASSES[i];
    if (!c) {
        json_bool(w, v->passed);
        return;
    }
    json_begin_object(w);
    if (c->metric) {
        json_key(w, c->metric);
        if (v->verified)
            json_real(w, v->metric);
        else
            json_null(w);
        json_key(w, "thresholds");
        json_begin_object(w);
        write_number(w, "threshold", v->threshold);
        write_class(w, c->threshold);
    } else {
        write_simple(w, v);
    }
    write_class(w, c->result);
}

static bool same_names(const pgy_accuracy *a, size_t i, size_t k)
{
    const char *first[2], *second[2];
    pgy_accuracy_pair(a, i, &first[0], &second[0]);
    pgy_accuracy_pair(a, k, &first[1], &second[1]);
    return !strcmp(first[0], first[1]) && !strcmp(second[0], second[1]);
}

static void write_iterations(json_writer *w, const pgy_accuracy *a, size_t pair)
{
    for (size_t i = 0; i < pgy_accuracy_iteration_count(a, pair); i++) {
        const pgy_verdicts *verdicts = pgy_accuracy_at(a, pair, i);
        json_begin_object(w);
        for (size_t k = 0; k < pgy_verdicts_count(verdicts); k++) {
            const pgy_verdict *v = pgy_verdicts_at(verdicts, k);
            json_key(w, v->output);
            write_verdict(w, v);
        }
        json_end_object(w);
    }
}

static void write_pair(json_writer *w, const pgy_accuracy *a, size_t pair)
{
    const char *first, *second;
    for (size_t i = 0; i < pair; i++)
        if (same_names(a, i, pair)) return;
    pgy_accuracy_pair(a, pair, &first, &second);
    json_begin_array(w);
    json_begin_array(w);
    json_text(w, first);
    json_text(w, second);
    json_end_array(w);
    json_begin_array(w);
    for (size_t i = pair; i < pgy_accuracy_pair_count(a); i++)
        if (same_names(a, i, pair)) write_iterations(w, a, i);
    json_end_array(w);
    json_end_array(w);
}

static void write_results(json_writer *w, const pgy_accuracy_results *r)
{
    json_begin_object(w);
    json_key(w, "lst");
    json_begin_array(w);
    for (size_t i = 0; i < pgy_accuracy_results_count(r); i++) {
        const pgy_accuracy *a = pgy_accuracy_results_at(r, i);
        json_begin_object(w);
        json_key(w, "lst");
        json_begin_array(w);
        for (size_t pair = 0; pair < pgy_accuracy_pair_count(a); pair++) write_pair(w, a, pair);
        json_end_array(w);
        json_put_text(w, "aggregation", pgy_accuracy_is_average(a) ? "average" : "per_sample");
        write_class(w, "AccuracyResult");
    }
    json_end_array(w);
    write_class(w, "AccuracyResults");
}

pgy_status pgy_accuracy_results_save(const pgy_accuracy_results *r, const char *path,
                                     pgy_error *err)
{
    json_output file = {0};
    pgy_status st = accuracy_expect_all(r, err);
    if (st) return pgy_error_prefix(err, st, "%s cannot be written: ", path);
    LOG(INFO, "Saving accuracy results to %s", path);
    st = json_output_open(&file, path, err);
    if (st) return st;
    write_results(file.json, r);
    st = json_output_commit(&file, err);
    json_output_close(&file);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Writing accuracy results, byte for byte as the original does. It keys pairs by name, so pairs
 * with equal names are written as one pair with the iterations of all. */
#include <string.h>

#include "base/log.h"
#include "compare/accuracy_json.h"
#include "compare/judge.h"
#include "compare/results.h"
#include "data/array_json.h"

static const char LOG_PATH[] = "json/serde.py";

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
    for (size_t i = 0; i < METRIC_FIELD_COUNT; i++) {
        json_key(w, METRIC_FIELDS[i].name);
        if (i >= FIRST_QUANTILE && !v->has_quantile)
            json_null(w);
        else
            json_real(w, *(const double *)((const char *)v + METRIC_FIELDS[i].offset));
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
    for (size_t i = 0; i < VERDICT_CLASS_COUNT && v->has_metrics; i++)
        if (VERDICT_CLASSES[i].kind == v->kind) c = &VERDICT_CLASSES[i];
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

/* The original ignores this list when it reads a file. */
static void write_failures(json_writer *w, const pgy_accuracy_results *r)
{
    size_t count = pgy_accuracy_results_failure_count(r);
    if (!count) return;
    json_key(w, "failures");
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) json_text(w, pgy_accuracy_results_failure(r, i));
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
    write_failures(w, r);
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

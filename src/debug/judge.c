/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a model: runs it and its reference on the same samples and compares the results. */
#include "debug/judge.h"

#include <polygraphy/loader.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/sized.h"
#include "debug/isolate.h"

static const char LOG_PATH[] = "debug/judge.c";

static const char *const NAMES[] = {"pass", "build-fail", "run-fail", "mismatch",
                                    "nan",  "crash",      "unjudged"};
enum { NAME_COUNT = sizeof NAMES / sizeof *NAMES };

const char *pgy_debug_outcome_name(pgy_debug_outcome outcome)
{
    return (size_t)outcome < NAME_COUNT ? NAMES[outcome] : "unknown";
}

bool pgy_debug_outcome_from_name(pgy_debug_outcome *out, const char *name)
{
    for (size_t i = 0; i < NAME_COUNT; i++) {
        if (strcmp(name, NAMES[i]) != 0) continue;
        *out = (pgy_debug_outcome)i;
        return true;
    }
    return false;
}

struct pgy_debug_judge {
    pgy_debug_judge_options options;
    const pgy_backend *runner, *reference; /* reference NULL: none */
};

static pgy_status find_backend(const pgy_backend **out, const char *name, pgy_error *err)
{
    *out = pgy_backend_find(name);
    return *out ? PGY_OK
                : pgy_error_set(err, PGY_E_NOT_FOUND, "judge.runner: backend '%s' does not exist",
                                name);
}

pgy_status pgy_debug_judge_create(pgy_debug_judge **out, const pgy_debug_judge_options *options,
                                  pgy_error *err)
{
    pgy_debug_judge *j = mem_calloc(1, sizeof *j);
    if (!j) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a judge");
    pgy_debug_judge_options *o = &j->options;
    o->size = sizeof *o;
    pgy_status st = SIZED_TAKE(pgy_debug_judge_options, o, options, err);
    if (!st) st = find_backend(&j->runner, o->runner ? o->runner : "trt", err);
    if (!st && o->reference) st = find_backend(&j->reference, o->reference, err);
    if (!st && o->reference && o->golden)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "judge.golden: there is a reference, too");
    if (st)
        mem_free(j);
    else
        *out = j;
    return st;
}

void pgy_debug_judge_destroy(pgy_debug_judge *j)
{
    mem_free(j);
}

bool judge_has_golden(const pgy_debug_judge *j)
{
    return j->options.golden != NULL;
}

/* ---- Running -------------------------------------------------------------------------------- */

static pgy_status make_runner(pgy_runner **out, const pgy_backend *backend,
                              const pgy_backend_options *options, pgy_model *model, pgy_error *err)
{
    pgy_loader *loader = NULL;
    pgy_model_source source = {0};
    pgy_status st = pgy_loader_from_model(&loader, model, err);
    if (!st) st = pgy_loader_source(&source, loader, err);
    return st ? st : pgy_runner_create(out, backend, &source, options, NULL, err);
}

static pgy_status infer_all(pgy_results *to, pgy_runner *runner, const judge_samples *samples,
                            pgy_error *err)
{
    const pgy_metadata *inputs = NULL;
    size_t index = 0;
    pgy_status st = pgy_results_add_runner(to, pgy_runner_name(runner), &index, err);
    if (!st) st = pgy_runner_inputs(&inputs, runner, err);
    for (size_t i = 0; !st && i < samples->count; i++) {
        pgy_tensor_map *feed = NULL, *outputs = NULL;
        st = cancel_check(err);
        if (!st) st = pgy_feed_match(&feed, samples->feeds[i], inputs, err);
        if (!st) st = pgy_runner_infer(&outputs, runner, feed, err);
        if (!st) st = pgy_results_add(to, index, outputs, NAN, err);
        pgy_tensor_map_destroy(outputs);
        pgy_tensor_map_destroy(feed);
    }
    return st;
}

/* *built tells at which of the two steps a failure happened. */
static pgy_status run_backend(pgy_results **out, bool *built, const pgy_backend *backend,
                              const pgy_backend_options *options, pgy_model *model,
                              const judge_samples *samples, pgy_error *err)
{
    pgy_runner *runner = NULL;
    pgy_results *results = NULL;
    *built = false;
    pgy_status st = pgy_results_create(&results, err);
    if (!st) st = make_runner(&runner, backend, options, model, err);
    if (!st) st = pgy_runner_activate(runner, err);
    *built = st == PGY_OK;
    if (!st) st = infer_all(results, runner, samples, err);
    pgy_runner_destroy(runner);
    if (st)
        pgy_results_destroy(results);
    else
        *out = results;
    return st;
}

static void find(pgy_debug_finding *f, pgy_debug_outcome outcome, const char *text)
{
    f->outcome = outcome;
    snprintf(f->text, sizeof f->text, "%.*s", (int)sizeof f->text - 1, text);
}

/* A failure of a runtime is a finding; running out of memory or an interrupt ends the search. */
static pgy_status run_judged(pgy_results **out, pgy_debug_finding *f, const pgy_debug_judge *j,
                             pgy_model *model, const judge_samples *samples, pgy_error *err)
{
    const pgy_debug_judge_options *o = &j->options;
    pgy_error why = {0};
    bool built = false;
    if (o->isolate) return isolated_run(out, f, o, j->runner->name, model, samples, err);
    const pgy_status st =
        run_backend(out, &built, j->runner, o->runner_options, model, samples, &why);
    if (st == PGY_E_MEMORY || st == PGY_E_CANCELLED) return pgy_error_set(err, st, "%s", why.text);
    if (st) find(f, built ? PGY_DEBUG_RUN_FAIL : PGY_DEBUG_BUILD_FAIL, why.text);
    return PGY_OK;
}

static pgy_status run_reference(pgy_results **out, pgy_debug_finding *f, const pgy_debug_judge *j,
                                pgy_model *model, const judge_samples *samples, pgy_error *err)
{
    pgy_error why = {0};
    bool built;
    const pgy_status st = run_backend(out, &built, j->reference, NULL, model, samples, &why);
    if (st == PGY_E_MEMORY || st == PGY_E_CANCELLED) return pgy_error_set(err, st, "%s", why.text);
    if (!st) return PGY_OK;
    find(f, PGY_DEBUG_UNJUDGED, why.text);
    LOG(VERBOSE, "The reference %s cannot run the candidate: %s", j->reference->name, why.text);
    return PGY_OK;
}

/* ---- Comparing ------------------------------------------------------------------------------ */

static pgy_status has_nan(bool *out, const pgy_tensor *t, pgy_error *err)
{
    pgy_tensor *wide = NULL;
    *out = false;
    if (!t || !pgy_dtype_is_float(pgy_tensor_dtype(t))) return PGY_OK;
    const pgy_status st = pgy_tensor_cast(&wide, pgy_tensor_view(t), PGY_F64, err);
    if (st) return st;
    const double *x = pgy_tensor_data(wide);
    const size_t n = pgy_tensor_count(wide);
    for (size_t i = 0; i < n && !*out; i++) *out = isnan(x[i]);
    pgy_tensor_release(wide);
    return PGY_OK;
}

static pgy_status find_nan_in(pgy_debug_finding *f, const pgy_iteration *got,
                              const pgy_iteration *expected, size_t sample, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && !f->outcome && i < pgy_tensor_map_count(got->outputs); i++) {
        const char *name = pgy_tensor_map_name(got->outputs, i);
        bool here, there = false;
        st = has_nan(&here, pgy_tensor_map_at(got->outputs, i), err);
        if (!st && here && expected)
            st = has_nan(&there, pgy_tensor_map_find(expected->outputs, name), err);
        if (st || !here || there) continue;
        f->outcome = PGY_DEBUG_NAN;
        snprintf(f->text, sizeof f->text, "output '%s' has a NaN (sample %zu)", name, sample);
    }
    return st;
}

static pgy_status find_nan(pgy_debug_finding *f, const pgy_results *got,
                           const pgy_results *expected, pgy_error *err)
{
    const size_t count = pgy_results_iteration_count(got, 0);
    const size_t known = expected && pgy_results_runner_count(expected)
                             ? pgy_results_iteration_count(expected, 0)
                             : 0;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && !f->outcome && i < count; i++)
        st = find_nan_in(f, pgy_results_at(got, 0, i),
                         i < known ? pgy_results_at(expected, 0, i) : NULL, i, err);
    return st;
}

/* Golden results may have tensors that a part of the model does not have, and lack others. */
static pgy_status keep_common(pgy_results **out, const pgy_results *from, const pgy_results *with,
                              pgy_error *err)
{
    pgy_results *made = NULL;
    const size_t count = pgy_results_iteration_count(from, 0);
    pgy_status st = pgy_results_create(&made, err);
    if (!st) st = pgy_results_add_runner(made, pgy_results_runner_name(from, 0), NULL, err);
    for (size_t i = 0; !st && i < count; i++) {
        const pgy_tensor_map *all = pgy_results_at(from, 0, i)->outputs;
        const pgy_tensor_map *other =
            i < pgy_results_iteration_count(with, 0) ? pgy_results_at(with, 0, i)->outputs : NULL;
        pgy_tensor_map *common = NULL;
        st = pgy_tensor_map_create(&common, err);
        for (size_t k = 0; !st && other && k < pgy_tensor_map_count(all); k++)
            if (pgy_tensor_map_find(other, pgy_tensor_map_name(all, k)))
                st = pgy_tensor_map_set(common, pgy_tensor_map_name(all, k),
                                        pgy_tensor_map_at(all, k), err);
        if (!st) st = pgy_results_add(made, 0, common, NAN, err);
        pgy_tensor_map_destroy(common);
    }
    if (st)
        pgy_results_destroy(made);
    else
        *out = made;
    return st;
}

static bool describe(pgy_debug_finding *f, const pgy_verdicts *v, size_t sample)
{
    for (size_t i = 0; i < pgy_verdicts_count(v); i++) {
        const pgy_verdict *o = pgy_verdicts_at(v, i);
        if (o->passed) continue;
        if (o->has_metrics && o->kind == PGY_COMPARE_SIMPLE)
            snprintf(f->text, sizeof f->text,
                     "output '%s' differs: greatest absolute difference %g, greatest relative "
                     "difference %g (sample %zu; atol %g, rtol %g)",
                     o->output, o->max_absdiff, o->max_reldiff, sample, o->atol.real, o->rtol.real);
        else if (o->has_metrics)
            snprintf(f->text, sizeof f->text, "output '%s' differs: %s %g (sample %zu; limit %g)",
                     o->output, pgy_compare_kind_label(o->kind), o->metric, sample,
                     o->threshold.real);
        else
            snprintf(f->text, sizeof f->text, "output '%s' differs (sample %zu)", o->output,
                     sample);
        return true;
    }
    return false;
}

static void describe_mismatch(pgy_debug_finding *f, const pgy_accuracy_results *r)
{
    f->outcome = PGY_DEBUG_MISMATCH;
    for (size_t c = 0; c < pgy_accuracy_results_count(r); c++) {
        const pgy_accuracy *a = pgy_accuracy_results_at(r, c);
        for (size_t p = 0; p < pgy_accuracy_pair_count(a); p++)
            for (size_t i = 0; i < pgy_accuracy_iteration_count(a, p); i++)
                if (describe(f, pgy_accuracy_at(a, p, i), i)) return;
    }
    snprintf(f->text, sizeof f->text, "%s",
             pgy_accuracy_results_failure_count(r) ? pgy_accuracy_results_failure(r, 0)
                                                   : "the outputs differ");
}

static pgy_status compare(pgy_debug_finding *f, const pgy_debug_judge *j, const pgy_results *got,
                          const pgy_results *expected, pgy_error *err)
{
    const pgy_results *pair[] = {got, expected};
    pgy_accuracy_results *accuracy = NULL;
    bool passed = false;
    pgy_status st = pgy_compare_accuracy(&accuracy, &passed, pair, 2, j->options.judge, err);
    if (!st && !passed) describe_mismatch(f, accuracy);
    pgy_accuracy_results_destroy(accuracy);
    return st;
}

/* *expected: the golden results of the outputs that were compared. */
static pgy_status compare_golden(pgy_debug_finding *f, pgy_results **expected,
                                 const pgy_debug_judge *j, const pgy_results *got, size_t samples,
                                 pgy_error *err)
{
    const pgy_results *golden = j->options.golden;
    pgy_results *a = NULL, *b = NULL;
    if (!pgy_results_runner_count(golden) || pgy_results_iteration_count(golden, 0) != samples)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "judge.golden: the golden results have %zu samples, but the data "
            "have %zu",
            pgy_results_runner_count(golden) ? pgy_results_iteration_count(golden, 0) : (size_t)0,
            samples);
    pgy_status st = keep_common(&a, got, golden, err);
    if (!st) st = keep_common(&b, golden, got, err);
    if (!st && !pgy_tensor_map_count(pgy_results_at(a, 0, 0)->outputs))
        find(f, PGY_DEBUG_UNJUDGED, "the golden results have none of the outputs");
    else if (!st)
        st = compare(f, j, a, b, err);
    pgy_results_destroy(a);
    if (st || f->outcome == PGY_DEBUG_UNJUDGED)
        pgy_results_destroy(b);
    else
        *expected = b;
    return st;
}

pgy_status pgy_debug_judge_run(pgy_debug_finding *out, pgy_results **expected, pgy_debug_judge *j,
                               pgy_model *model, const pgy_tensor_map *const *feeds, size_t count,
                               pgy_error *err)
{
    const judge_samples samples = {feeds, count};
    pgy_debug_finding f = {0};
    pgy_results *got = NULL, *reference = NULL;
    if (!count) return pgy_error_set(err, PGY_E_ARGUMENT, "judge: there are no samples");
    pgy_status st = PGY_OK;
    if (j->reference) st = run_reference(&reference, &f, j, model, &samples, err);
    if (!st && !f.outcome) st = run_judged(&got, &f, j, model, &samples, err);
    if (!st && !f.outcome) st = find_nan(&f, got, reference ? reference : j->options.golden, err);
    if (!st && !f.outcome && reference) st = compare(&f, j, got, reference, err);
    if (!st && !f.outcome && j->options.golden)
        st = compare_golden(&f, &reference, j, got, count, err);
    pgy_results_destroy(got);
    if (!st) *out = f;
    if (!st && expected)
        *expected = reference;
    else
        pgy_results_destroy(reference);
    return st;
}

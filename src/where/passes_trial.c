/* SPDX-License-Identifier: Apache-2.0 */
/* Runs trials. Inputs and the reference's outputs are kept, so that every trial sees the same. */
#include "where/passes_trial.h"

#include <math.h>
#include <string.h>

#include <polygraphy/loader.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/sized.h"
#include "where/where.h"

static const char LOG_PATH[] = "where/passes_trial.c";

/* ---- Log ------------------------------------------------------------------------------------ */

/* Takes every message, so that trials that fail on purpose show no failures. */
static bool swallow(pgy_severity severity, const char *text, void *user)
{
    (void)severity, (void)text, (void)user;
    return true;
}

static void set_quiet(bool quiet)
{
    if (!pgy_log_is_on(PGY_LOG_VERBOSE, LOG_PATH)) log_set_listener(quiet ? swallow : NULL, NULL);
}

/* ---- Life ----------------------------------------------------------------------------------- */

static pgy_status set_judge(trials *t, pgy_error *err)
{
    t->where = pgy_where_options_default();
    pgy_status st =
        t->options.where ? SIZED_TAKE(pgy_where_options, &t->where, t->options.where, err) : PGY_OK;
    if (st || t->options.judge) return st;
    st = trials_compare_create(&t->compare, &t->rule, &t->where, err);
    t->judge = pgy_judge_options_default();
    t->judge.comparisons = (const pgy_compare *const *)&t->compare;
    t->judge.comparison_count = 1;
    t->options.judge = &t->judge;
    return st;
}

pgy_status trials_init(trials *t, pgy_model *model, const char *backend,
                       const pgy_rewrite_options *options, pgy_error *err)
{
    *t = (trials){.options = {.size = sizeof t->options}};
    if (!model) return pgy_error_set(err, PGY_E_ARGUMENT, "'model' must not be NULL");
    if (options) {
        const pgy_status st = SIZED_TAKE(pgy_rewrite_options, &t->options, options, err);
        if (st) return st;
    }
    pgy_rewrite_options *o = &t->options;
    if (!o->reference) o->reference = "opref";
    if (!o->outputs && strcmp(o->reference, backend) == 0)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the reference is '%s', whose rewrites are searched; choose another "
                             "runner, or stored outputs",
                             backend);
    if (!o->outputs && !pgy_backend_find(o->reference))
        return pgy_error_set(err, PGY_E_NOT_FOUND, "backend '%s' does not exist", o->reference);
    t->backend = pgy_backend_find(backend);
    if (!t->backend)
        return pgy_error_set(err, PGY_E_NOT_FOUND, "backend '%s' does not exist", backend);
    const pgy_status st = set_judge(t, err);
    if (!st) t->model = pgy_model_retain(model);
    return st;
}

void trials_deinit(trials *t)
{
    for (size_t i = 0; i < t->feed_count; i++) pgy_tensor_map_destroy(t->feeds[i]);
    mem_free(t->feeds);
    for (size_t i = 0; i < t->verdict_count; i++) mem_free(t->verdicts[i].what);
    mem_free(t->verdicts);
    pgy_results_destroy(t->made);
    pgy_compare_destroy(t->compare);
    pgy_floor_destroy(t->rule.floor);
    pgy_model_destroy(t->model);
    *t = (trials){0};
}

/* ---- Data ----------------------------------------------------------------------------------- */

static pgy_status add_feed(trials *t, pgy_tensor_map *feed, pgy_error *err)
{
    pgy_tensor_map **feeds = mem_realloc(t->feeds, (t->feed_count + 1) * sizeof *feeds);
    if (!feeds) {
        pgy_tensor_map_destroy(feed);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    t->feeds = feeds;
    feeds[t->feed_count++] = feed;
    return PGY_OK;
}

static pgy_status take_feeds(trials *t, pgy_data_loader *loader, const pgy_metadata *inputs,
                             pgy_error *err)
{
    pgy_tensor_map *feed = NULL;
    pgy_status st = inputs ? pgy_data_loader_set_metadata(loader, inputs, err) : PGY_OK;
    while (!st) {
        feed = NULL;
        st = pgy_data_loader_next(&feed, loader, err);
        if (st || !feed) break;
        st = add_feed(t, feed, err);
        if (!st) st = cancel_check(err);
    }
    if (!st && !t->feed_count)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "the data has no inputs, so nothing can be compared");
    return st;
}

static pgy_status find_feeds(trials *t, pgy_runner *r, pgy_error *err)
{
    const pgy_metadata *inputs = NULL;
    pgy_data_loader *generated = NULL;
    pgy_status st = pgy_runner_inputs(&inputs, r, err);
    if (!st && !t->options.data) {
        const pgy_random_options o = pgy_random_options_default();
        st = pgy_random_loader_create(&generated, &o, err);
    }
    if (!st) st = take_feeds(t, generated ? generated : t->options.data, inputs, err);
    pgy_data_loader_destroy(generated);
    return st;
}

/* ---- Running -------------------------------------------------------------------------------- */

static pgy_status start(pgy_runner **out, const trials *t, const pgy_backend *backend,
                        const pgy_backend_options *options, const char *name, pgy_error *err)
{
    pgy_loader *loader = NULL;
    pgy_model_source source = {0};
    pgy_runner *r = NULL;
    pgy_status st = pgy_loader_from_model(&loader, t->model, err);
    if (!st) st = pgy_loader_source(&source, loader, err);
    if (!st) st = pgy_runner_create(&r, backend, &source, options, name, err);
    if (!st) st = pgy_runner_activate(r, err);
    if (st)
        pgy_runner_destroy(r);
    else
        *out = r;
    return st;
}

static pgy_status infer(pgy_results *to, pgy_runner *r, const pgy_tensor_map *feed, pgy_error *err)
{
    const pgy_metadata *inputs = NULL;
    pgy_tensor_map *matched = NULL, *outputs = NULL;
    pgy_status st = pgy_runner_inputs(&inputs, r, err);
    if (!st && inputs) st = pgy_feed_match(&matched, feed, inputs, err);
    if (!st) st = pgy_runner_infer(&outputs, r, matched ? matched : feed, err);
    if (!st) st = pgy_results_add(to, 0, outputs, (double)NAN, err);
    pgy_tensor_map_destroy(matched);
    pgy_tensor_map_destroy(outputs);
    return st ? st : cancel_check(err);
}

static pgy_status infer_all(pgy_results **out, const trials *t, pgy_runner *r, pgy_error *err)
{
    pgy_results *results = NULL;
    size_t index = 0;
    pgy_status st = pgy_results_create(&results, err);
    if (!st) st = pgy_results_add_runner(results, pgy_runner_name(r), &index, err);
    for (size_t i = 0; !st && i < t->feed_count; i++) st = infer(results, r, t->feeds[i], err);
    if (st)
        pgy_results_destroy(results);
    else
        *out = results;
    return st;
}

static pgy_status run_reference(trials *t, pgy_error *err)
{
    const char *name = t->options.reference;
    const pgy_results *given = t->options.outputs;
    pgy_runner *r = NULL;
    if (t->made) return PGY_OK;
    if (given) {
        if (pgy_results_runner_count(given) &&
            pgy_results_iteration_count(given, 0) == t->feed_count)
            return PGY_OK;
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "the stored outputs have %zu iterations, but the data has %zu: they do not belong to "
            "these inputs",
            pgy_results_runner_count(given) ? pgy_results_iteration_count(given, 0) : 0,
            t->feed_count);
    }
    pgy_status st = start(&r, t, pgy_backend_find(name), t->options.reference_options, name, err);
    if (!st) st = infer_all(&t->made, t, r, err);
    pgy_runner_destroy(r);
    return st ? pgy_error_prefix(err, st, "reference %s: ", name) : PGY_OK;
}

/* The feeds as the runner matches them: by name, else by order. */
static pgy_status measure_floor(trials *t, pgy_runner *r, pgy_error *err)
{
    const pgy_metadata *inputs = NULL;
    pgy_tensor_map **matched = mem_calloc(t->feed_count + 1, sizeof(pgy_tensor_map *));
    if (!matched) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = pgy_runner_inputs(&inputs, r, err);
    for (size_t i = 0; !st && inputs && i < t->feed_count; i++)
        st = pgy_feed_match(&matched[i], t->feeds[i], inputs, err);
    if (!st)
        st = where_floor_measure(&t->rule.floor, t->model, &t->where,
                                 where_floor_narrow(t->options.config), false,
                                 inputs ? matched : t->feeds, t->feed_count, err);
    for (size_t i = 0; i < t->feed_count; i++) pgy_tensor_map_destroy(matched[i]);
    mem_free(matched);
    return st;
}

/* Takes the inputs of all trials. A model whose loops do not end with them is refused here, because
 * the runners under test do not stop. */
static pgy_status prepare_feeds(trials *t, pgy_runner *r, pgy_error *err)
{
    pgy_status st = find_feeds(t, r, err);
    set_quiet(false); /* the guard may warn */
    if (!st) st = where_guard(t->model, NULL, t->feeds, t->feed_count, t->where.max_steps, err);
    if (!st && t->rule.judge && t->rule.judge->needs_floor) st = measure_floor(t, r, err);
    set_quiet(true);
    return st;
}

static pgy_status run(bool *agrees, trials *t, const pgy_backend_options *options, pgy_error *err)
{
    pgy_runner *r = NULL;
    pgy_results *results = NULL;
    pgy_status st = start(&r, t, t->backend, options, t->backend->name, err);
    if (!st && !t->feed_count) st = prepare_feeds(t, r, err);
    if (!st) st = infer_all(&results, t, r, err);
    pgy_runner_destroy(r);
    if (!st) st = run_reference(t, err);
    const pgy_results *const sides[] = {results, t->options.outputs ? t->options.outputs : t->made};
    if (!st) st = pgy_compare_accuracy(NULL, agrees, sides, 2, t->options.judge, err);
    pgy_results_destroy(results);
    return st ? st : cancel_check(err);
}

static bool keep_verdict(trials *t, const char *what, bool agrees)
{
    char *copy = mem_strdup(what);
    if (!copy || !mem_grow((void **)&t->verdicts, &t->verdict_capacity, t->verdict_count + 1,
                           sizeof *t->verdicts)) {
        mem_free(copy);
        return false;
    }
    t->verdicts[t->verdict_count++] = (trial_verdict){copy, agrees};
    return true;
}

pgy_status trials_run(bool *agrees, trials *t, const pgy_backend_options *options, const char *what,
                      pgy_error *err)
{
    set_quiet(true);
    const pgy_status st = run(agrees, t, options, err);
    set_quiet(false);
    t->count++;
    if (st) return pgy_error_prefix(err, st, "trial %zu, %s: ", t->count, what);
    LOG(INFO, "Trial %zu: %s: the outputs %s", t->count, what, *agrees ? "agree" : "differ");
    if (!keep_verdict(t, what, *agrees)) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    return PGY_OK;
}

/* ---- The search ------------------------------------------------------------------------------ */

static void set_prefix(bool *on, const bool *off, size_t prefix, size_t count)
{
    for (size_t i = 0; i < count; i++) on[i] = i < prefix && !off[i];
}

/* *found: the smallest number of first rewrites that differ; their last one is the culprit. */
static pgy_status find_next(size_t *found, bool *on, const bool *off, const rewrite_search *s,
                            pgy_error *err)
{
    size_t good = 0, bad = s->count;
    while (bad - good > 1) {
        const size_t middle = good + (bad - good) / 2;
        bool agrees = false;
        set_prefix(on, off, middle, s->count);
        const pgy_status st = s->run(&agrees, on, s->user, err);
        if (st) return st;
        *(agrees ? &good : &bad) = middle;
    }
    *found = bad - 1;
    return PGY_OK;
}

pgy_status rewrite_search_run(bool *off, const rewrite_search *s, pgy_error *err)
{
    bool *on = mem_calloc(s->count + 1, sizeof *on);
    bool agrees = false;
    pgy_status st = on ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    while (!st && !agrees) {
        size_t found = 0;
        st = find_next(&found, on, off, s, err);
        if (st) break;
        if (off[found]) {
            st = pgy_error_set(err, PGY_E_BACKEND,
                               "the outputs change from run to run with the same inputs and "
                               "options, so no rewrite can be blamed");
            break;
        }
        set_prefix(on, off, found + 1, s->count);
        off[found] = true;
        if (s->found) st = s->found(found, on, s->user, err);
        set_prefix(on, off, s->count, s->count);
        if (!st) st = s->run(&agrees, on, s->user, err);
    }
    mem_free(on);
    return st;
}

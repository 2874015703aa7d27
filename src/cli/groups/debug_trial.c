/* SPDX-License-Identifier: Apache-2.0 */
/* Judges the plan or the run of an iteration by the outputs of a reference, which runs once. */
#include "cli/groups/debug_trial.h"

#include <math.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/runners.h"
#include "cli/groups/trt.h"

static const char LOG_PATH[] = "cli/groups/debug_trial.c";

bool trial_judge_is_given(const args *line)
{
    return ARGS_OF(line, judge_args)->given;
}

/* ---- Samples -------------------------------------------------------------------------------- */

static pgy_status add_sample(trial_judge *j, pgy_tensor_map *feed, pgy_error *err)
{
    pgy_tensor_map **feeds = mem_realloc(j->feeds, (j->feed_count + 1) * sizeof(pgy_tensor_map *));
    if (!feeds) {
        pgy_tensor_map_destroy(feed);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for samples");
    }
    j->feeds = feeds;
    j->feeds[j->feed_count++] = feed;
    return PGY_OK;
}

/* A file must have results for each sample: samples without any would pass unseen. */
static pgy_status check_count(const trial_judge *j, pgy_error *err)
{
    const size_t known = j->expected ? pgy_results_iteration_count(j->expected, 0) : j->feed_count;
    if (!j->feed_count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--check-with: the data options give no inputs");
    if (known == j->feed_count) return PGY_OK;
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "--check-with: '%s' has the results of %zu inference(s), but the data "
                         "options give %zu; give the data that it was made with",
                         ARGS_OF(j->line, judge_args)->with, known, j->feed_count);
}

/* All iterations and the reference get the same samples, even if a script makes others each time.
 * The first runner that starts says what the inputs are. */
static pgy_status load_samples(trial_judge *j, pgy_runner *runner, pgy_error *err)
{
    const model_args *m = ARGS_OF(j->line, model_args);
    const pgy_metadata *inputs = NULL;
    pgy_data_loader *loader = NULL;
    if (j->feed_count) return PGY_OK;
    pgy_status st = pgy_runner_inputs(&inputs, runner, err);
    if (!st) st = data_loader_create(&loader, j->line, m->shapes, err);
    if (!st && inputs) st = pgy_data_loader_set_metadata(loader, inputs, err);
    for (bool more = true; !st && more;) {
        pgy_tensor_map *feed = NULL;
        st = pgy_data_loader_next(&feed, loader, err);
        more = !st && feed;
        if (more) st = add_sample(j, feed, err);
    }
    pgy_data_loader_destroy(loader);
    return st ? st : check_count(j, err);
}

/* ---- Running -------------------------------------------------------------------------------- */

static pgy_status infer(pgy_results *to, pgy_runner *runner, const trial_judge *j, pgy_error *err)
{
    const pgy_metadata *inputs = NULL;
    size_t index = 0;
    pgy_status st = pgy_results_add_runner(to, pgy_runner_name(runner), &index, err);
    if (!st) st = pgy_runner_inputs(&inputs, runner, err);
    for (size_t i = 0; !st && i < j->feed_count; i++) {
        pgy_tensor_map *feed = NULL, *outputs = NULL;
        st = cancel_check(err);
        if (!st && inputs) st = pgy_feed_match(&feed, j->feeds[i], inputs, err);
        if (!st) st = pgy_runner_infer(&outputs, runner, feed ? feed : j->feeds[i], err);
        if (!st) st = pgy_results_add(to, index, outputs, NAN, err);
        pgy_tensor_map_destroy(outputs);
        pgy_tensor_map_destroy(feed);
    }
    return st;
}

static pgy_status run_samples(pgy_results **out, pgy_runner *runner, const trial_judge *j,
                              pgy_error *err)
{
    pgy_results *results = NULL;
    pgy_status st = pgy_results_create(&results, err);
    if (!st) st = infer(results, runner, j, err);
    if (st)
        pgy_results_destroy(results);
    else
        *out = results;
    return st;
}

/* Runs the reference once. Without its results nothing can be judged, so a failure ends the
 * session. */
static pgy_status run_reference(trial_judge *j, pgy_error *err)
{
    pgy_loader *loader = NULL;
    pgy_model_source source = {0};
    pgy_runner *runner = NULL;
    if (j->expected) return PGY_OK;
    pgy_status st = pgy_loader_from_model(&loader, j->model, err);
    if (!st) st = pgy_loader_source(&source, loader, err);
    if (!st)
        st = pgy_runner_create(&runner, pgy_backend_find(j->reference), &source, NULL, NULL, err);
    if (!st) st = pgy_runner_activate(runner, err);
    if (!st) st = run_samples(&j->expected, runner, j, err);
    pgy_runner_destroy(runner);
    if (!st || status_ends_all(st)) return st;
    return pgy_error_prefix(err, st, "--check-with: %s cannot run the model: ", j->reference);
}

/* ---- Judging -------------------------------------------------------------------------------- */

static pgy_status compare(bool *passed, const trial_judge *j, const pgy_results *got,
                          pgy_error *err)
{
    const pgy_results *pair[] = {got, j->expected};
    const char *path = ARGS_OF(j->line, compare_args)->save_accuracy;
    pgy_accuracy_results *accuracy = NULL;
    pgy_status st = pgy_compare_accuracy(&accuracy, passed, pair, 2, &j->rules, err);
    if (!st && path) st = pgy_accuracy_results_save(accuracy, path, err);
    pgy_accuracy_results_destroy(accuracy);
    return st;
}

/* A plan or a model that the runner cannot load or run fails its iteration. */
static pgy_status fails(bool *passed, const trial_judge *j, pgy_status st, const pgy_error *why,
                        pgy_error *err)
{
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why->text);
    LOG(ERROR, "%s failed, so this iteration counts as failed: %s", j->runner, why->text);
    *passed = false;
    return PGY_OK;
}

static pgy_status judge_runner(bool *passed, trial_judge *j, pgy_runner *runner, pgy_error *err)
{
    pgy_results *got = NULL;
    pgy_error why = {0};
    pgy_status st = pgy_runner_activate(runner, &why);
    if (st) return fails(passed, j, st, &why, err);
    st = load_samples(j, runner, err);
    if (!st) st = run_reference(j, err);
    if (st) return st;
    st = run_samples(&got, runner, j, &why);
    if (st) return fails(passed, j, st, &why, err);
    st = compare(passed, j, got, err);
    pgy_results_destroy(got);
    return st;
}

static pgy_status judge(bool *passed, const char *candidate, void *user, pgy_error *err)
{
    trial_judge *j = user;
    pgy_model_source source = {0};
    pgy_runner *runner = NULL;
    pgy_status st = pgy_source_from_path(&source, candidate ? candidate : j->path, err);
    if (!st)
        st =
            pgy_runner_create(&runner, pgy_backend_find(j->runner), &source, j->options, NULL, err);
    pgy_log_indent(1);
    if (!st) st = judge_runner(passed, j, runner, err);
    pgy_log_indent(-1);
    pgy_runner_destroy(runner);
    return st;
}

/* ---- Settings ------------------------------------------------------------------------------- */

static pgy_status make_options(trial_judge *j, pgy_error *err)
{
    const pgy_build_config *config = NULL;
    pgy_status st = runners_options(&j->options, j->line, pgy_backend_find(j->runner), err);
    if (st || !runner_has(j->runner, PGY_BACKEND_BUILDS_PLANS)) return st;
    st = trt_config_make(&config, j->line, err);
    return st ? st : pgy_engine_runner_configure(j->options, config, err);
}

/* Of a file with the results of several runners, the first one's count. */
static pgy_status keep_first(pgy_results **results, pgy_error *err)
{
    const pgy_results *all = *results;
    pgy_results *first = NULL;
    if (pgy_results_runner_count(all) < 2) return PGY_OK;
    pgy_status st = pgy_results_create(&first, err);
    if (!st) st = pgy_results_add_runner(first, pgy_results_runner_name(all, 0), NULL, err);
    for (size_t i = 0; !st && i < pgy_results_iteration_count(all, 0); i++)
        st = pgy_results_add(first, 0, pgy_results_at(all, 0, i)->outputs, NAN, err);
    if (st) {
        pgy_results_destroy(first);
        return st;
    }
    pgy_results_destroy(*results);
    *results = first;
    return PGY_OK;
}

static pgy_status find_reference(trial_judge *j, pgy_error *err)
{
    const judge_args *s = ARGS_OF(j->line, judge_args);
    pgy_status st = cli_judge_reference(&j->reference, &j->expected, s, err);
    if (st || !j->expected) return st;
    if (!pgy_results_runner_count(j->expected))
        return pgy_error_set(err, PGY_E_ARGUMENT, "--check-with: '%s' has no results", s->with);
    return keep_first(&j->expected, err);
}

pgy_status trial_judge_init(trial_judge *j, args *line, bool runs, pgy_error *err)
{
    debug_args *debug = ARGS_OF(line, debug_args);
    *j = (trial_judge){.line = line,
                       .runner = ARGS_OF(line, judge_args)->runner,
                       .path = model_path(line),
                       .rules = ARGS_OF(line, compare_args)->judge};
    pgy_status st = find_reference(j, err);
    if (!st) st = compare_list_create(&j->functions, line, err);
    if (!st && runs) st = make_options(j, err);
    if (st) {
        trial_judge_deinit(j);
        return st;
    }
    j->rules.comparisons = (const pgy_compare *const *)j->functions.items;
    j->rules.comparison_count = j->functions.count;
    debug->criterion.judge = judge;
    debug->criterion.user = j;
    return PGY_OK;
}

void trial_judge_deinit(trial_judge *j)
{
    for (size_t i = 0; i < j->feed_count; i++) pgy_tensor_map_destroy(j->feeds[i]);
    mem_free(j->feeds);
    pgy_results_destroy(j->expected);
    compare_list_destroy(&j->functions);
    if (j->options) trt_config_release(j->line);
    pgy_backend_options_destroy(j->options);
    *j = (trial_judge){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Sequential runs: each runner is activated, run over all data and deactivated before the next one
 * starts, so that two runners are never in memory together. Results are kept (on disk above the
 * swap threshold) and judged at the end. */
#include <math.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/pytext.h"
#include "compare/run.h"

static const char LOG_PATH[] = "comparator/comparator.py";

/* ---- One runner ----------------------------------------------------------------------------- */

static pgy_status warm_up(run_context *c, feed_cache *cache, pgy_runner *r, pgy_error *err)
{
    pgy_tensor_map *feed = NULL;
    size_t times = c->options->warm_up;
    if (!times) return PGY_OK;
    if (!cache->count) {
        LOG(WARNING, "%-35s | The data loader gives no input; there will be no warm-up.",
            pgy_runner_name(r));
        return PGY_OK;
    }
    LOG(START, "%-35s | Running %zu warm-up run(s)", pgy_runner_name(r), times);
    pgy_status st = feed_cache_match(&feed, cache, 0, r, err);
    for (size_t i = 0; !st && i < times; i++) {
        pgy_tensor_map *outputs = NULL;
        st = run_check_cancelled(c->options, err);
        if (!st) st = pgy_runner_infer(&outputs, r, feed, err);
        pgy_tensor_map_destroy(outputs);
    }
    pgy_tensor_map_destroy(feed);
    if (!st) LOG(FINISH, "%-35s | Finished %zu warm-up run(s)", pgy_runner_name(r), times);
    return st;
}

static void log_feed(const pgy_runner *r, const pgy_tensor_map *feed)
{
    str heading = {0};
    char *text = infer_describe("Inference Input(s)", feed);
    if (text) LOG_ONCE(INFO, "%-35s\n%s", pgy_runner_name(r), text);
    pgy_text_free(text);
    str_printf(&heading, "%-35s | Feeding inputs:", pgy_runner_name(r));
    infer_log_values(str_text(&heading), feed);
    str_deinit(&heading);
}

static pgy_status one_iteration(double *seconds, run_context *c, feed_cache *cache, size_t i,
                                pgy_runner *r, const run_sink *sink, pgy_error *err)
{
    pgy_tensor_map *feed = NULL, *outputs = NULL;
    pgy_status st = run_check_cancelled(c->options, err);
    if (!st) st = feed_cache_match(&feed, cache, i, r, err);
    if (!st) {
        log_feed(r, feed);
        st = infer_matched(&outputs, r, feed, err);
    }
    pgy_tensor_map_destroy(feed);
    if (st) return pgy_error_prefix(err, st, "%s, iteration %zu: ", pgy_runner_name(r), i);
    *seconds = infer_seconds(r);
    st = sink->iteration(sink->user, outputs, *seconds, err);
    pgy_tensor_map_destroy(outputs);
    return st;
}

static pgy_status all_iterations(run_context *c, feed_cache *cache, pgy_runner *r,
                                 const run_sink *sink, pgy_error *err)
{
    double total = 0;
    bool loaded = cache->loaded;
    pgy_status st = feed_cache_begin(cache, r, err);
    for (size_t i = 0; !st && !loaded && sink->feed && i < cache->count; i++) {
        pgy_tensor_map *feed = NULL;
        st = run_check_cancelled(c->options, err);
        if (!st) st = feed_cache_get(&feed, cache, i, err);
        if (!st) st = sink->feed(sink->user, feed, err);
        pgy_tensor_map_destroy(feed);
    }
    if (!st) st = warm_up(c, cache, r, err);
    for (size_t i = 0; !st && i < cache->count; i++) {
        double seconds = 0;
        st = one_iteration(&seconds, c, cache, i, r, sink, err);
        total += seconds;
    }
    if (!st && cache->count)
        LOG(FINISH,
            "%-35s | Completed %zu iteration(s) in %.4g ms | Average inference time: %.4g ms.",
            pgy_runner_name(r), cache->count, total * 1e3, total * 1e3 / (double)cache->count);
    return st;
}

pgy_status sequential_one(run_context *c, feed_cache *cache, pgy_runner *r, const run_sink *sink,
                          pgy_error *err)
{
    LOG(START, "%-35s | Activating and starting inference", pgy_runner_name(r));
    pgy_status st = pgy_runner_activate(r, err);
    if (st) return pgy_error_prefix(err, st, "%s could not be started: ", pgy_runner_name(r));
    st = all_iterations(c, cache, r, sink, err);
    pgy_runner_deactivate(r);
    return st;
}

/* ---- All runners ---------------------------------------------------------------------------- */

typedef struct collector {
    pgy_results *results;
    size_t runner;
} collector;

static pgy_status collect(void *user, const pgy_tensor_map *outputs, double runtime_s,
                          pgy_error *err)
{
    const collector *to = user;
    return pgy_results_add(to->results, to->runner, outputs, runtime_s, err);
}

static pgy_status run_all(pgy_results *results, run_context *c, feed_cache *cache, pgy_error *err)
{
    collector to = {.results = results};
    const run_sink sink = {.iteration = collect, .user = &to};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->runner_count; i++) {
        pgy_runner *r = c->runners[i];
        st = pgy_results_add_runner(results, pgy_runner_name(r), &to.runner, err);
        if (!st)
            st = (c->options->use_subprocess ? subprocess_one : sequential_one)(c, cache, r, &sink,
                                                                                err);
    }
    return st;
}

static void log_success(const run_context *c)
{
    const char **names = mem_calloc(c->runner_count + 1, sizeof *names);
    str list = {0};
    for (size_t i = 0; names && i < c->runner_count; i++) names[i] = pgy_runner_name(c->runners[i]);
    if (names) str_append_py_list(&list, names, c->runner_count);
    LOG(VERBOSE, "Successfully ran: %s", str_text(&list));
    str_deinit(&list);
    mem_free((void *)names);
}

/* Saves one kind of file. Kinds are saved one after the other, in the order of the original's log;
 * `what` names one of them. */
static pgy_status save_feeds(const pgy_run_options *what, const feed_cache *cache, pgy_error *err)
{
    saver s;
    pgy_status st = saver_open(&s, what, err);
    if (st) return st;
    for (size_t i = 0; !st && i < cache->count; i++) {
        pgy_tensor_map *feed = NULL;
        st = feed_cache_get(&feed, cache, i, err);
        if (!st) st = saver_add_feed(&s, feed, err);
        pgy_tensor_map_destroy(feed);
    }
    if (!st) st = saver_finish(&s, err);
    saver_close(&s);
    return st;
}

static pgy_status save_all(const pgy_results *results, run_context *c, const feed_cache *cache,
                           pgy_error *err)
{
    const pgy_run_options *o = c->options;
    const pgy_run_options inputs = {.save_inputs = o->save_inputs};
    const pgy_run_options blob = {.save_input_blob = o->save_input_blob};
    pgy_status st = PGY_OK;
    if (o->save_inputs) st = save_feeds(&inputs, cache, err);
    if (!st && o->save_input_blob) st = save_feeds(&blob, cache, err);
    if (!st && o->save_outputs) st = pgy_results_save(results, o->save_outputs, err);
    return st;
}

pgy_status sequential_infer(pgy_results **out, run_context *c, pgy_error *err)
{
    feed_cache cache = {.loader = c->loader, .options = c->options};
    pgy_results *results = NULL;
    pgy_status st = pgy_results_create(&results, err);
    if (!st) st = run_all(results, c, &cache, err);
    if (!st) log_success(c);
    if (!st && c->runner_count) st = save_all(results, c, &cache, err);
    if (!st) {
        *out = results;
        results = NULL;
    }
    feed_cache_deinit(&cache);
    pgy_results_destroy(results);
    return st;
}

/* ---- Run and judge -------------------------------------------------------------------------- */

static pgy_status load_stored(pgy_results **all, size_t *count, run_context *c, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->options->load_output_count; i++) {
        st = pgy_results_load(&all[*count], c->options->load_outputs[i], err);
        if (!st) ++*count;
    }
    return st;
}

static pgy_status postprocess(pgy_results **all, size_t count, const pgy_postprocess *p,
                              pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (!p->callback && !p->top_k_count) return PGY_OK;
    for (size_t i = 0; !st && i < count; i++) st = pgy_postprocess_apply(all[i], p, err);
    return st;
}

pgy_status sequential_run(run_context *c, pgy_error *err)
{
    size_t count = 0;
    pgy_results **all = mem_calloc(c->options->load_output_count + 1, sizeof(pgy_results *));
    if (!all) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = PGY_OK;
    if (c->runner_count) {
        st = sequential_infer(&all[0], c, err);
        count = !st;
    }
    if (!st) st = load_stored(all, &count, c, err);
    if (!st) st = postprocess(all, count, &c->options->postprocess, err);
    if (!st) st = tally_results(c->verdict, (const pgy_results *const *)all, count, err);
    if (!st) st = tally_validate(c->verdict, (const pgy_results *const *)all, count, err);
    if (!st) st = tally_finish(c->verdict, err);
    for (size_t i = 0; i < count; i++) pgy_results_destroy(all[i]);
    mem_free(all);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Sequential runs: each runner is activated, run over all data and deactivated before the next one
 * starts, so that two runners are never in memory together. Results are kept (on disk above the
 * swap threshold) and judged at the end. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/pytext.h"
#include "compare/run.h"

static const char LOG_PATH[] = "comparator/comparator.py";

/* ---- All runners ---------------------------------------------------------------------------- */

typedef struct collector {
    pgy_results *results;
    size_t runner;
    run_times *times; /* NULL: not wanted */
} collector;

static pgy_status collect(void *user, const pgy_tensor_map *outputs, infer_time time,
                          pgy_error *err)
{
    const collector *to = user;
    if (to->times && !run_times_add(to->times, time))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for times");
    return pgy_results_add(to->results, to->runner, outputs, time.whole_s, err);
}

static pgy_status run_all(pgy_results *results, run_context *c, feed_cache *cache, pgy_error *err)
{
    collector to = {.results = results};
    const run_sink sink = {.iteration = collect, .user = &to};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->runner_count; i++) {
        pgy_runner *r = c->runners[i];
        to.times = c->times ? &c->times[i] : NULL;
        st = pgy_results_add_runner(results, pgy_runner_name(r), &to.runner, err);
        if (!st)
            st = (c->options->use_subprocess ? subprocess_one : in_process_one)(c, cache, r, &sink,
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

/* Saves all inputs in the one file that `what` names. The caller saves one file after the other, in
 * the order of the original's log. */
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
    if (!st) st = postprocess(all, count, c->options->postprocess, err);
    if (!st) st = tally_results(c->verdict, (const pgy_results *const *)all, count, err);
    if (!st) st = tally_validate(c->verdict, (const pgy_results *const *)all, count, err);
    if (!st) st = tally_finish(c->verdict, err);
    for (size_t i = 0; i < count; i++) pgy_results_destroy(all[i]);
    mem_free(all);
    return st;
}

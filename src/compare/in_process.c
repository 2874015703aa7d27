/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one runner over all data: activates it, warms it up, hands every iteration to a sink, and
 * deactivates it. */
#include "base/log.h"
#include "base/tracer.h"
#include "compare/run.h"

static const char LOG_PATH[] = "comparator/comparator.py";

static pgy_status warm_up(run_context *c, feed_cache *cache, pgy_runner *r, pgy_error *err)
{
    pgy_tensor_map *feed = NULL;
    size_t times = c->options->warm_up;
    if (!times) return PGY_OK;
    if (!cache->count) {
        LOG(WARNING, "%-35s | The data loader has no inputs, so there is no warm-up.",
            pgy_runner_name(r));
        return PGY_OK;
    }
    LOG(START, "%-35s | Running %zu warm-up run(s)", pgy_runner_name(r), times);
    pgy_status st = feed_cache_match(&feed, cache, 0, r, err);
    tracer_set_warm_up(true);
    for (size_t i = 0; !st && i < times; i++) {
        pgy_tensor_map *outputs = NULL;
        st = run_check_cancelled(c->options, err);
        if (!st) st = pgy_runner_infer(&outputs, r, feed, err);
        pgy_tensor_map_destroy(outputs);
    }
    tracer_set_warm_up(false);
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

static pgy_status one_iteration(infer_time *time, run_context *c, feed_cache *cache, size_t i,
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
    *time = infer_time_of(r);
    st = sink->iteration(sink->user, outputs, *time, err);
    pgy_tensor_map_destroy(outputs);
    return st;
}

static pgy_status all_iterations(run_context *c, feed_cache *cache, pgy_runner *r,
                                 const run_sink *sink, pgy_error *err)
{
    double total = 0;
    run_times times = {0};
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
        infer_time one = {0};
        st = one_iteration(&one, c, cache, i, r, sink, err);
        if (!st && !run_times_add(&times, one))
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for times");
        total += one.whole_s;
    }
    if (!st && cache->count)
        LOG(FINISH,
            "%-35s | Completed %zu iteration(s) in %.4g ms | Average inference time: %.4g ms.",
            pgy_runner_name(r), cache->count, total * 1e3, total * 1e3 / (double)cache->count);
    if (!st) run_times_log(pgy_runner_name(r), &times);
    run_times_deinit(&times);
    return st;
}

pgy_status in_process_one(run_context *c, feed_cache *cache, pgy_runner *r, const run_sink *sink,
                          pgy_error *err)
{
    LOG(START, "%-35s | Activating and starting inference", pgy_runner_name(r));
    pgy_status st = pgy_runner_activate(r, err);
    if (st) return pgy_error_prefix(err, st, "%s could not be started: ", pgy_runner_name(r));
    st = all_iterations(c, cache, r, sink, err);
    pgy_runner_deactivate(r);
    return st;
}

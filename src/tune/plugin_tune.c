/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a model with different sets of places where a plugin replaces nodes. Greedy: tries one
 * place after the other and keeps those that make the model better. Exhaustive: tries sets of one
 * place, of two, and so on, until the gain reaches the threshold or max_combinations sets were
 * tried. */
#include <polygraphy/data.h>
#include <polygraphy/engine.h>
#include <polygraphy/runtime.h>

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/sized.h"
#include "base/system.h"
#include "tune/plugin_tune.h"

static const char LOG_PATH[] = "tune/plugin_tune.c";

enum { WARM_UPS = 2, MIN_RUNS = 10, MAX_RUNS = 1000 };
static const double MIN_S = 0.05; /* least seconds for all runs together: longer than a busy
                                     machine suspends a thread */

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static double now_s(void)
{
    return (double)clock_ns() * 1e-9;
}

/* ---- A model with some places replaced ------------------------------------------------------ */

/* Replaces the chosen places of the plugin whose places begin at i. *next: the first place of the
 * next plugin. */
static pgy_status apply_plugin(pgy_gs_graph **graph, const pgy_plugin_tuning *a, const bool *chosen,
                               size_t i, size_t *next, pgy_error *err)
{
    pgy_plugin_places some = *a->places[i].plugin;
    pgy_plugin_instance *instances = mem_calloc(some.count + 1, sizeof *instances);
    size_t count = 0, replaced = 0;
    if (!instances) return no_memory(err);
    for (*next = i; *next < a->count && a->places[*next].plugin == a->places[i].plugin; ++*next)
        if (chosen[*next]) instances[count++] = some.instances[a->places[*next].index];
    some.instances = instances;
    some.count = count;
    pgy_status st = count ? pgy_plugin_apply(graph, &replaced, a->options.dir, &some, err) : PGY_OK;
    if (!st && replaced < count)
        st = pgy_error_set(err, PGY_E_NOT_FOUND,
                           "plugin '%s' replaced only %zu of the %zu places to replace", some.name,
                           replaced, count);
    mem_free(instances);
    return st;
}

static pgy_status make_model(pgy_model **out, const pgy_plugin_tuning *a, const bool *chosen,
                             pgy_error *err)
{
    pgy_gs_graph *graph = NULL;
    pgy_status st = pgy_gs_import(&graph, a->model, err);
    for (size_t i = 0, next = 0; !st && i < a->count; i = next)
        st = apply_plugin(&graph, a, chosen, i, &next, err);
    if (!st) st = pgy_gs_export(out, graph, NULL, err);
    pgy_gs_destroy(graph);
    return st;
}

/* ---- Measuring ------------------------------------------------------------------------------ */

static pgy_status make_feed(pgy_tensor_map **out, pgy_engine *engine, pgy_error *err)
{
    const pgy_random_options o = pgy_random_options_default();
    pgy_data_loader *data = NULL;
    pgy_status st = pgy_random_loader_create(&data, &o, err);
    if (!st) st = pgy_data_loader_set_metadata(data, pgy_engine_inputs(engine), err);
    if (!st) st = pgy_data_loader_next(out, data, err);
    if (!st && !*out) st = pgy_error_set(err, PGY_E_ARGUMENT, "the generator gave no input data");
    pgy_data_loader_destroy(data);
    return st;
}

static double map_mb(const pgy_tensor_map *m)
{
    double bytes = 0;
    for (size_t i = 0; i < pgy_tensor_map_count(m); i++)
        bytes += (double)pgy_tensor_size_bytes(pgy_tensor_map_at(m, i));
    return bytes / (1 << 20);
}

/* Times the runs and keeps the least time: other work on the machine only adds to the others. */
static pgy_status time_runs(pgy_plugin_figures *out, pgy_engine *engine, pgy_error *err)
{
    pgy_context *context = NULL;
    pgy_tensor_map *feed = NULL, *results = NULL;
    double least_s = 0, sum_s = 0;
    pgy_status st = pgy_context_create(&context, engine, NULL, err);
    if (!st) st = make_feed(&feed, engine, err);
    if (!st) st = pgy_tensor_map_create(&results, err);
    for (int i = 0; !st && i < MAX_RUNS && (i < WARM_UPS + MIN_RUNS || sum_s < MIN_S); i++) {
        pgy_tensor_map_clear(results);
        const double begin = now_s();
        st = pgy_context_run(context, feed, results, err);
        const double took_s = now_s() - begin;
        if (i >= WARM_UPS) sum_s += took_s;
        if (i == WARM_UPS || took_s < least_s) least_s = took_s;
    }
    if (!st) {
        out->latency_ms = least_s * 1e3;
        out->throughput = out->latency_ms > 0 ? 1e3 / out->latency_ms : 0;
        out->memory_mb = map_mb(feed) + map_mb(results);
    }
    pgy_tensor_map_destroy(results);
    pgy_tensor_map_destroy(feed);
    pgy_context_destroy(context);
    return st;
}

static pgy_status measure(pgy_plugin_tuning *a, pgy_plugin_figures *out, pgy_model *model,
                          pgy_error *err)
{
    const pgy_build_config config = {.size = sizeof config, .timing_cache = a->options.cache};
    pgy_engine *engine = NULL;
    const double begin = now_s();
    a->summary.builds++;
    pgy_status st = pgy_engine_build(&engine, model, &config, err);
    a->summary.build_seconds += now_s() - begin;
    if (!st) st = time_runs(out, engine, err);
    pgy_engine_release(engine);
    return st;
}

/* ---- The search ----------------------------------------------------------------------------- */

static bool is_better(const pgy_plugin_figures *a, const pgy_plugin_figures *b)
{
    if (a->latency_ms != b->latency_ms) return a->latency_ms < b->latency_ms;
    if (a->memory_mb != b->memory_mb) return a->memory_mb < b->memory_mb;
    return a->throughput > b->throughput;
}

/* Measures a set of places, and keeps it if it is better than the best so far. A set that cannot be
 * built is never better. */
static pgy_status try_set(pgy_plugin_tuning *a, const bool *chosen, bool *kept, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_plugin_figures figures = {0};
    pgy_error why = {0};
    str text = {0};
    *kept = false;
    a->summary.tested++;
    progress_advance(a->summary.tested);
    pgy_status st = make_model(&model, a, chosen, &why);
    if (!st) st = measure(a, &figures, model, &why);
    if (st) {
        LOG(WARNING, "Combination %zu is left out, because it failed: %s", a->summary.tested,
            why.text);
        st = status_ends_all(st) ? pgy_error_set(err, st, "%s", why.text) : PGY_OK;
        pgy_model_destroy(model);
        return st;
    }
    *kept = is_better(&figures, &a->summary.best);
    tuning_append_figures(&text, &figures);
    LOG(INFO, "Combination %zu | %s%s", a->summary.tested, str_text(&text),
        *kept ? " | best so far" : "");
    str_deinit(&text);
    if (*kept) {
        a->summary.found = true;
        a->summary.best = figures;
        for (size_t i = 0; i < a->count; i++) a->places[i].chosen = chosen[i];
        pgy_model_destroy(a->best_model);
        a->best_model = model;
        model = NULL;
    }
    pgy_model_destroy(model);
    return PGY_OK;
}

static pgy_status search_greedy(pgy_plugin_tuning *a, bool *chosen, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < a->count; i++) {
        bool kept;
        chosen[i] = true;
        st = try_set(a, chosen, &kept, err);
        chosen[i] = kept;
    }
    return st;
}

static bool is_enough(const pgy_plugin_tuning *a)
{
    return a->summary.baseline.latency_ms - a->summary.best.latency_ms >
               a->options.threshold * a->summary.baseline.latency_ms ||
           (int64_t)a->summary.tested >= a->options.max_combinations;
}

/* Advances to the next set of the same size in lexicographic order. False: this was the last
 * one. */
static bool next_set(size_t *members, size_t size, size_t count)
{
    size_t i = size;
    while (i > 0 && members[i - 1] == count - size + i - 1) i--;
    if (i == 0) return false;
    members[i - 1]++;
    for (; i < size; i++) members[i] = members[i - 1] + 1;
    return true;
}

static pgy_status search_all(pgy_plugin_tuning *a, bool *chosen, pgy_error *err)
{
    size_t *members = mem_calloc(a->count + 1, sizeof *members);
    pgy_status st = members ? PGY_OK : no_memory(err);
    for (size_t size = 1; !st && size <= a->count && !is_enough(a); size++) {
        for (size_t i = 0; i < size; i++) members[i] = i;
        do {
            bool kept;
            memset(chosen, 0, a->count * sizeof *chosen);
            for (size_t i = 0; i < size; i++) chosen[members[i]] = true;
            st = try_set(a, chosen, &kept, err);
        } while (!st && !is_enough(a) && next_set(members, size, a->count));
    }
    mem_free(members);
    return st;
}

static pgy_status search(pgy_plugin_tuning *a, pgy_error *err)
{
    const double begin = now_s();
    bool *chosen = mem_calloc(a->count + 1, sizeof *chosen);
    str text = {0};
    pgy_status st = chosen ? measure(a, &a->summary.baseline, a->model, err) : no_memory(err);
    if (!st) {
        a->summary.best = a->summary.baseline;
        a->summary.tested = a->options.exhaustive; /* the model itself is the empty set */
        tuning_append_figures(&text, &a->summary.baseline);
        LOG(INFO, "Baseline | %s", str_text(&text));
        str_deinit(&text);
        progress_begin("Testing combinations", a->options.exhaustive ? 0 : a->count);
        st = a->options.exhaustive ? search_all(a, chosen, err) : search_greedy(a, chosen, err);
        progress_end();
    }
    mem_free(chosen);
    a->summary.seconds = now_s() - begin;
    return st;
}

/* ---- Outside -------------------------------------------------------------------------------- */

static pgy_status take_options(pgy_plugin_tune_options *out, const pgy_plugin_tune_options *given,
                               pgy_error *err)
{
    pgy_plugin_tune_options o = {.threshold = -1};
    const pgy_status st = SIZED_TAKE(pgy_plugin_tune_options, &o, given, err);
    if (st) return st;
    if (!o.dir) return pgy_error_set(err, PGY_E_ARGUMENT, "'options.dir' must not be NULL");
    if (!o.max_combinations) o.max_combinations = 1000;
    if (o.threshold < 0) o.threshold = 0.1;
    *out = o;
    return PGY_OK;
}

/* Lists the places where any plugin fits. */
static pgy_status list_places(pgy_plugin_tuning *a, const pgy_plugin_config *config, pgy_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < config->count; i++) count += config->plugins[i].count;
    a->places = mem_calloc(count + 1, sizeof *a->places);
    if (!a->places) return no_memory(err);
    for (size_t i = 0; i < config->count; i++)
        for (size_t k = 0; k < config->plugins[i].count; k++)
            a->places[a->count++] = (pgy_plugin_tuning_place){&config->plugins[i], k, false};
    return PGY_OK;
}

pgy_status pgy_plugin_tune(pgy_plugin_tuning **out, pgy_model *model,
                           const pgy_plugin_config *config, const pgy_plugin_tune_options *options,
                           pgy_error *err)
{
    if (!out || !model || !config)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out', 'model' and 'config' must not be NULL");
    pgy_plugin_tuning *a = mem_calloc(1, sizeof *a);
    if (!a) return no_memory(err);
    a->model = model;
    pgy_status st = take_options(&a->options, options, err);
    if (!st) st = list_places(a, config, err);
    if (!st) st = search(a, err);
    for (size_t i = 0; i < a->count; i++) a->summary.replaced += a->places[i].chosen;
    if (st)
        pgy_plugin_tuning_destroy(a);
    else
        *out = a;
    return st;
}

void pgy_plugin_tuning_destroy(pgy_plugin_tuning *t)
{
    if (!t) return;
    mem_free(t->places);
    pgy_model_destroy(t->best_model);
    mem_free(t);
}

const pgy_plugin_tuning_summary *pgy_plugin_tuning_summarize(const pgy_plugin_tuning *t)
{
    return &t->summary;
}

pgy_model *pgy_plugin_tuning_model(const pgy_plugin_tuning *t)
{
    return t->best_model;
}

size_t pgy_plugin_tuning_count(const pgy_plugin_tuning *t)
{
    return t->count;
}

const pgy_plugin_tuning_place *pgy_plugin_tuning_at(const pgy_plugin_tuning *t, size_t i)
{
    return i < t->count ? &t->places[i] : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a model with different sets of replacements. Greedy: one place after the other, kept if
 * it makes the model better than it was. Exhaustive: sets of one place, of two, and so on, until
 * the gain is large enough or enough was tried. */
#include "cli/autotune.h"

#include <polygraphy/data.h>
#include <polygraphy/engine.h>
#include <polygraphy/runtime.h>

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/pytext.h"
#include "base/system.h"

static const char LOG_PATH[] = "tools/plugin/subtool/autotune.py";

enum { WARM_UPS = 2, RUNS = 10 };

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static double now_s(void)
{
    return (double)clock_ns() * 1e-9;
}

pgy_status autotune_init(autotune *out, pgy_model *model, const plugins_args *plugins,
                         const pgy_plugin_config *config, pgy_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < config->count; i++) count += config->plugins[i].count;
    *out = (autotune){.model = model, .plugins = plugins, .count = count};
    out->places = mem_calloc(count + 1, sizeof *out->places);
    out->best = mem_calloc(count + 1, sizeof *out->best);
    if (!out->places || !out->best) return no_memory(err);
    count = 0;
    for (size_t i = 0; i < config->count; i++)
        for (size_t k = 0; k < config->plugins[i].count; k++)
            out->places[count++] = (autotune_place){&config->plugins[i], k};
    return PGY_OK;
}

void autotune_deinit(autotune *a)
{
    mem_free(a->places);
    mem_free(a->best);
    pgy_model_destroy(a->best_model);
    *a = (autotune){0};
}

/* ---- A model with some places replaced ---- */

/* The chosen instances of the plugin that begins at place i; *next: the place behind it. */
static pgy_status apply_plugin(pgy_gs_graph **graph, const autotune *a, const bool *chosen,
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
    pgy_status st = count ? plugins_apply(graph, &replaced, a->plugins, &some, err) : PGY_OK;
    if (!st && replaced < count)
        st = pgy_error_set(err, PGY_E_NOT_FOUND, "plugin '%s' replaced %zu of %zu places",
                           some.name, replaced, count);
    mem_free(instances);
    return st;
}

static pgy_status make_model(pgy_model **out, const autotune *a, const bool *chosen, pgy_error *err)
{
    pgy_gs_graph *graph = NULL;
    pgy_status st = pgy_gs_import(&graph, a->model, err);
    for (size_t i = 0, next = 0; !st && i < a->count; i = next)
        st = apply_plugin(&graph, a, chosen, i, &next, err);
    if (!st) st = pgy_gs_export(out, graph, NULL, err);
    pgy_gs_destroy(graph);
    return st;
}

/* ---- Measuring ---- */

static pgy_status make_feed(pgy_tensor_map **out, pgy_engine *engine, pgy_error *err)
{
    const pgy_random_options o = pgy_random_options_default();
    pgy_data_loader *data = NULL;
    pgy_status st = pgy_random_loader_create(&data, &o, err);
    if (!st) st = pgy_data_loader_set_metadata(data, pgy_engine_inputs(engine), err);
    if (!st) st = pgy_data_loader_next(out, data, err);
    if (!st && !*out) st = pgy_error_set(err, PGY_E_ARGUMENT, "there is no input data");
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

static pgy_status time_runs(autotune_figures *out, pgy_engine *engine, pgy_error *err)
{
    pgy_context *context = NULL;
    pgy_tensor_map *feed = NULL, *results = NULL;
    double begin = 0;
    pgy_status st = pgy_context_create(&context, engine, NULL, err);
    if (!st) st = make_feed(&feed, engine, err);
    if (!st) st = pgy_tensor_map_create(&results, err);
    for (int i = 0; !st && i < WARM_UPS + RUNS; i++) {
        if (i == WARM_UPS) begin = now_s();
        pgy_tensor_map_clear(results);
        st = pgy_context_run(context, feed, results, err);
    }
    if (!st) {
        out->latency_ms = (now_s() - begin) * 1e3 / RUNS;
        out->throughput = out->latency_ms > 0 ? 1e3 / out->latency_ms : 0;
        out->memory_mb = map_mb(feed) + map_mb(results);
    }
    pgy_tensor_map_destroy(results);
    pgy_tensor_map_destroy(feed);
    pgy_context_destroy(context);
    return st;
}

static pgy_status measure(autotune *a, autotune_figures *out, pgy_model *model, pgy_error *err)
{
    const pgy_build_config config = {.size = sizeof config, .timing_cache = a->cache};
    pgy_engine *engine = NULL;
    const double begin = now_s();
    a->builds++;
    pgy_status st = pgy_engine_build(&engine, model, &config, err);
    a->build_seconds += now_s() - begin;
    if (!st) st = time_runs(out, engine, err);
    pgy_engine_release(engine);
    return st;
}

/* ---- The search ---- */

static bool is_better(const autotune_figures *a, const autotune_figures *b)
{
    if (a->latency_ms != b->latency_ms) return a->latency_ms < b->latency_ms;
    if (a->memory_mb != b->memory_mb) return a->memory_mb < b->memory_mb;
    return a->throughput > b->throughput;
}

/* Takes the set over if it is better than the best so far. What cannot be built is not. */
static pgy_status try_set(autotune *a, const bool *chosen, bool *kept, pgy_error *err)
{
    pgy_model *model = NULL;
    autotune_figures figures = {0};
    pgy_error why = {0};
    str text = {0};
    *kept = false;
    a->tested++;
    progress_advance(a->tested);
    pgy_status st = make_model(&model, a, chosen, &why);
    if (!st) st = measure(a, &figures, model, &why);
    if (st) {
        LOG(WARNING, "Combination %zu cannot be used: %s", a->tested, why.text);
        st = status_ends_all(st) ? pgy_error_set(err, st, "%s", why.text) : PGY_OK;
        pgy_model_destroy(model);
        return st;
    }
    *kept = is_better(&figures, &a->figures);
    autotune_append_figures(&text, &figures);
    LOG(INFO, "Combination %zu | %s%s", a->tested, str_text(&text), *kept ? " | best so far" : "");
    str_deinit(&text);
    if (*kept) {
        a->found = true;
        a->figures = figures;
        memcpy(a->best, chosen, a->count * sizeof *chosen);
        pgy_model_destroy(a->best_model);
        a->best_model = model;
        model = NULL;
    }
    pgy_model_destroy(model);
    return PGY_OK;
}

static pgy_status search_greedy(autotune *a, bool *chosen, pgy_error *err)
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

static bool is_enough(const autotune *a)
{
    return a->baseline.latency_ms - a->figures.latency_ms > a->threshold * a->baseline.latency_ms ||
           (int64_t)a->tested >= a->max_combinations;
}

/* The next set of as many places, in the order of their numbers; false: there is none. */
static bool next_set(size_t *members, size_t size, size_t count)
{
    size_t i = size;
    while (i > 0 && members[i - 1] == count - size + i - 1) i--;
    if (i == 0) return false;
    members[i - 1]++;
    for (; i < size; i++) members[i] = members[i - 1] + 1;
    return true;
}

static pgy_status search_all(autotune *a, bool *chosen, pgy_error *err)
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

pgy_status autotune_search(autotune *a, pgy_error *err)
{
    const double begin = now_s();
    bool *chosen = mem_calloc(a->count + 1, sizeof *chosen);
    str text = {0};
    pgy_status st = chosen ? measure(a, &a->baseline, a->model, err) : no_memory(err);
    if (!st) {
        a->figures = a->baseline;
        a->tested = a->exhaustive; /* the empty set */
        autotune_append_figures(&text, &a->baseline);
        LOG(INFO, "Baseline | %s", str_text(&text));
        str_deinit(&text);
        progress_begin("Testing combinations", a->exhaustive ? 0 : a->count);
        st = a->exhaustive ? search_all(a, chosen, err) : search_greedy(a, chosen, err);
        progress_end();
    }
    mem_free(chosen);
    a->seconds = now_s() - begin;
    return st;
}

/* ---- The report ---- */

void autotune_append_figures(str *out, const autotune_figures *f)
{
    str_printf(out, "Latency: %.2fms, Throughput: %.2ffps, Memory: %.2fMB", f->latency_ms,
               f->throughput, f->memory_mb);
}

static void append_value(str *out, const pgy_plugin_value *v)
{
    switch (v->kind) {
    case PGY_PLUGIN_BOOL: str_append(out, v->integer ? "True" : "False"); break;
    case PGY_PLUGIN_INT: str_printf(out, "%lld", (long long)v->integer); break;
    case PGY_PLUGIN_REAL: str_append_g(out, 7, v->real); break;
    case PGY_PLUGIN_TEXT: str_append_py_repr(out, v->text); break;
    case PGY_PLUGIN_LIST:
        str_append_char(out, '[');
        for (size_t i = 0; i < v->count; i++) {
            str_append(out, i ? ", " : "");
            append_value(out, &v->items[i]);
        }
        str_append_char(out, ']');
    }
}

static void append_place(str *out, const autotune_place *p)
{
    const pgy_plugin_instance *v = &p->plugin->instances[p->index];
    str_printf(out, "  - Op: %s\n    Plugin: %s\n    Inputs: ", p->plugin->op, p->plugin->name);
    str_append_py_list(out, v->inputs, v->input_count);
    str_append(out, "\n    Outputs: ");
    str_append_py_list(out, v->outputs, v->output_count);
    str_append(out, "\n    Attributes: {");
    for (size_t i = 0; i < v->attribute_count; i++) {
        str_append(out, i ? ", " : "");
        str_append_py_repr(out, v->attributes[i].name);
        str_append(out, ": ");
        append_value(out, &v->attributes[i]);
    }
    str_append(out, "}\n");
}

pgy_status autotune_report(const autotune *a, const char *path, pgy_error *err)
{
    str out = {0};
    size_t count = 0;
    for (size_t i = 0; i < a->count; i++) count += a->best[i];
    str_append(&out, "Plugin Autotuning Report\n");
    str_append_fill(&out, '=', 50);
    str_printf(&out,
               "\nOptimization Time: %.2fs\nTotal Combinations Tested: %zu\nNumber of Engine "
               "Builds: %zu\nTotal Compilation Time: %.2fs\n\nBaseline Performance:\n  ",
               a->seconds, a->tested, a->builds, a->build_seconds);
    autotune_append_figures(&out, &a->baseline);
    str_append(&out, "\nBest Performance:\n  ");
    autotune_append_figures(&out, &a->figures);
    str_printf(&out, "\n\nBest Strategy (%zu replacements):\n", count);
    for (size_t i = 0; i < a->count; i++)
        if (a->best[i]) append_place(&out, &a->places[i]);
    const pgy_status st =
        out.failed ? no_memory(err) : file_write_all(path, str_text(&out), out.size, err);
    str_deinit(&out);
    return st;
}

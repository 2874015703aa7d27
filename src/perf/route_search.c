/* SPDX-License-Identifier: Apache-2.0 */
/* The search: which candidates run, in which order, and when it ends. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/sized.h"
#include "base/system.h"
#include "perf/route.h"

static const char LOG_PATH[] = "perf/route_search.c";

/* A knob helped if it alone takes less than this part of the baseline's time. */
static const double HELPED = 0.99;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a search of routes");
}

pgy_route_options pgy_route_options_default(void)
{
    return (pgy_route_options){.size = sizeof(pgy_route_options),
                               .cache = "best_config.json",
                               .timeout_s = -1,
                               .loss = PGY_LOSS_LINF,
                               .atol = 1e-5,
                               .rtol = 1e-5};
}

/* ---- The header ----------------------------------------------------------------------------- */

static pgy_status hash_model(const char **out, const char *path, arena *a, pgy_error *err)
{
    file_map m;
    *out = "";
    if (!path) return PGY_OK;
    const pgy_status st = file_map_open(&m, path, err);
    if (st) return st;
    *out = arena_printf(a, "%016llx", (unsigned long long)hash_xxh64(m.data, m.size_bytes, 0));
    file_map_close(&m);
    return *out ? PGY_OK : no_memory(err);
}

static pgy_status make_header(route_header *h, pgy_route_search *s, arena *a, pgy_error *err)
{
    const pgy_route_options *o = &s->options;
    const char *const *routes;
    size_t count = 0;
    char *folder = path_absolute("."), *model = o->model ? path_absolute(o->model) : NULL;
    pgy_status st = pgy_route_space_list(&routes, &count, s->space, PGY_ROUTE_FAST, err);
    *h = (route_header){.version = pgy_version(),
                        .algorithm = route_loss_name(o->loss),
                        .strategy = route_strategy_name(o->strategy),
                        .command_line = o->command_line ? o->command_line : "",
                        .expression = o->expression,
                        .has_references = o->has_references,
                        .atol = o->atol,
                        .rtol = o->rtol,
                        .threshold = o->threshold,
                        .arguments = (const char **)o->arguments,
                        .argument_count = o->argument_count};
    if (!st) h->baseline = arena_strdup(a, routes[0]);
    h->folder = folder ? arena_strdup(a, folder) : NULL;
    h->model = arena_strdup(a, model ? model : "");
    if (!st && (!h->baseline || !h->folder || !h->model)) st = no_memory(err);
    if (!st) st = hash_model(&h->model_hash, o->model, a, err);
    mem_free(folder);
    mem_free(model);
    return st;
}

/* Results count only for what they were measured with. */
static pgy_status check_same(const route_header *was, const route_header *is, const char *path,
                             pgy_error *err)
{
    static const struct {
        size_t offset;
        const char *what;
    } PARTS[] = {{offsetof(route_header, version), "version of the library"},
                 {offsetof(route_header, folder), "current folder"},
                 {offsetof(route_header, expression), "expression"},
                 {offsetof(route_header, strategy), "strategy"},
                 {offsetof(route_header, baseline), "baseline"},
                 {offsetof(route_header, algorithm), "loss"},
                 {offsetof(route_header, model), "model"},
                 {offsetof(route_header, model_hash), "content of the model"}};
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        const char *a = *(const char *const *)((const char *)was + PARTS[i].offset);
        const char *b = *(const char *const *)((const char *)is + PARTS[i].offset);
        if (strcmp(a, b) != 0)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "route.resume: %s is of another search: the %s was '%s' and is "
                                 "now '%s'; begin a new search",
                                 path, PARTS[i].what, a, b);
    }
    return PGY_OK;
}

static pgy_status keep_old(const char *path, pgy_error *err)
{
    str old = {0};
    pgy_status st = PGY_OK;
    if (file_is_dir(path))
        return pgy_error_set(err, PGY_E_IO, "%s is a folder; expected a file for the results",
                             path);
    if (!file_exists(path)) return PGY_OK;
    str_printf(&old, "%s.old", path);
    if (old.failed)
        st = no_memory(err);
    else if (rename(path, str_text(&old)))
        st = pgy_error_set(err, PGY_E_IO, "%s cannot be renamed to %s: %s", path, str_text(&old),
                           strerror(errno));
    else
        LOG(INFO, "%s is from an earlier search; it is now %s", path, str_text(&old));
    str_deinit(&old);
    return st;
}

/* ---- Life ----------------------------------------------------------------------------------- */

static pgy_status open_cache(pgy_route_search *s, pgy_error *err)
{
    arena memory = {0};
    route_header own;
    const char *path = s->options.cache;
    pgy_status st = PGY_OK;
    if (!s->options.resume) return make_header(&s->cache.header, s, &s->cache.memory, err);
    st = route_cache_load(&s->cache, path, err);
    if (!st) st = make_header(&own, s, &memory, err);
    if (!st) st = check_same(&s->cache.header, &own, path, err);
    arena_deinit(&memory);
    return st;
}

static pgy_status check_options(const pgy_route_options *o, pgy_error *err)
{
    if (!o->expression || !o->cache)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "route.expression and route.cache must not be NULL");
    if (!o->command_count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "route.command: the command is empty");
    if (o->keep_all_plans && !o->save_plan)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "route.keep_all_plans needs route.save_plan, which names the plans");
    if ((unsigned)o->strategy > PGY_ROUTE_MIXED || (unsigned)o->loss > PGY_LOSS_COS)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "route.strategy and route.loss must be values of their types");
    return PGY_OK;
}

pgy_status pgy_route_search_create(pgy_route_search **out, const pgy_route_options *options,
                                   pgy_error *err)
{
    pgy_route_search *s = mem_calloc(1, sizeof *s);
    if (!s) return no_memory(err);
    s->options = pgy_route_options_default();
    s->run.options = &s->options;
    pgy_status st = SIZED_TAKE(pgy_route_options, &s->options, options, err);
    if (!st) st = check_options(&s->options, err);
    if (!st)
        st = pgy_route_space_create(&s->space, s->options.expression, s->options.config,
                                    s->options.calibration, err);
    if (!st) st = open_cache(s, err);
    if (st)
        pgy_route_search_destroy(s);
    else
        *out = s;
    return st;
}

void pgy_route_search_destroy(pgy_route_search *s)
{
    if (!s) return;
    pgy_tensor_map_destroy(s->run.baseline);
    route_cache_deinit(&s->cache);
    pgy_route_space_destroy(s->space);
    mem_free(s);
}

size_t pgy_route_search_count(const pgy_route_search *s)
{
    return s->cache.count;
}

const pgy_route_result *pgy_route_search_at(const pgy_route_search *s, size_t i)
{
    return &s->cache.results[i];
}

const pgy_route_result *pgy_route_search_fastest(const pgy_route_search *s)
{
    return route_fastest(s->cache.results, s->cache.count);
}

size_t pgy_route_search_left(const pgy_route_search *s)
{
    return s->left;
}

/* ---- Plans ---------------------------------------------------------------------------------- */

/* The candidate's plan: beside the final one, or a temporary file. */
static pgy_status plan_path(char **out, const pgy_route_search *s, size_t iteration, pgy_error *err)
{
    str path = {0};
    if (!s->options.save_plan) return file_temp_path(out, ".plan", err);
    str_printf(&path, "%s.iter%zu", s->options.save_plan, iteration);
    return str_give(out, &path, err);
}

/* The fastest plan so far gets the final name, also if the search is interrupted later. */
static pgy_status place_plan(const pgy_route_search *s, char *path, const pgy_route_result *r,
                             pgy_error *err)
{
    const pgy_route_options *o = &s->options;
    const pgy_route_result *best = route_fastest(s->cache.results, s->cache.count);
    pgy_status st = PGY_OK;
    if (!o->save_plan) {
        file_temp_release(path);
        return PGY_OK;
    }
    const bool is_best = r && best && best->iteration == r->iteration;
    if (is_best && o->keep_all_plans)
        st = file_alias(path, o->save_plan, err);
    else if (is_best && rename(path, o->save_plan))
        st = pgy_error_set(err, PGY_E_IO, "%s cannot be renamed to %s: %s", path, o->save_plan,
                           strerror(errno));
    else if (!is_best && (!o->keep_all_plans || !r))
        unlink(path);
    mem_free(path);
    return st;
}

/* ---- Candidates ----------------------------------------------------------------------------- */

static pgy_status store(pgy_route_search *s, const pgy_route_result *r, pgy_error *err)
{
    const pgy_status st = route_cache_add(&s->cache, r, err);
    return st ? st : route_cache_save(&s->cache, s->options.cache, err);
}

static pgy_status try_route(pgy_route_search *s, size_t iteration, const char *route,
                            pgy_error *err)
{
    const pgy_route_options *o = &s->options;
    pgy_route_result r;
    arena memory = {0};
    str output = {0};
    char *plan = NULL;
    pgy_error ignored = {0};
    if (o->begin) o->begin(iteration, route, o->user);
    pgy_status st = plan_path(&plan, s, iteration, err);
    if (!st) st = route_run_one(&r, &output, &s->run, iteration, route, plan, &memory, err);
    if (!st) st = store(s, &r, err);
    if (plan) {
        const pgy_status placed = place_plan(s, plan, st ? NULL : &r, st ? &ignored : err);
        if (!st) st = placed;
    }
    if (o->end) o->end(iteration, route, st ? NULL : &r, str_text(&output), o->user);
    str_deinit(&output);
    arena_deinit(&memory);
    return st;
}

/* The losses of later routes need the outputs of the baseline, which the cache does not hold. */
static pgy_status repeat_baseline(pgy_route_search *s, pgy_error *err)
{
    const pgy_route_result *known = route_cache_find(&s->cache, s->cache.header.baseline);
    pgy_route_result r;
    arena memory = {0};
    str output = {0};
    char *plan = NULL;
    if (!known || !route_passed(known) || s->options.has_references || s->run.baseline ||
        s->repeated)
        return PGY_OK;
    s->repeated = true;
    LOG(INFO, "The baseline runs again, because its outputs are compared with those of others");
    pgy_status st = file_temp_path(&plan, ".plan", err);
    if (!st) st = route_run_one(&r, &output, &s->run, 0, known->route, plan, &memory, err);
    file_temp_release(plan);
    str_deinit(&output);
    arena_deinit(&memory);
    return st;
}

static bool is_over(const pgy_route_search *s)
{
    return s->options.timeout_s >= 0 &&
           (double)(clock_ns() - s->begin_ns) * 1e-9 >= s->options.timeout_s;
}

/* Tries the routes of a list that have no result; counts those that are left. */
static pgy_status try_list(pgy_route_search *s, const char *const *routes, size_t count,
                           pgy_error *err)
{
    pgy_status st = PGY_OK;
    bool stopped = false;
    s->left = 0;
    for (size_t i = 0; i < count; i++) {
        if (route_cache_find(&s->cache, routes[i])) continue;
        if (!st) st = cancel_check(err);
        stopped = stopped || st || is_over(s);
        if (!stopped) st = repeat_baseline(s, err);
        if (!stopped && !st) st = try_route(s, s->cache.count, routes[i], err);
        if (stopped || st) s->left++;
    }
    return st;
}

/* ---- Strategies ----------------------------------------------------------------------------- */

static bool has_helped(const pgy_route_search *s, size_t knob, str *route)
{
    const pgy_route_result *baseline = route_cache_find(&s->cache, s->cache.header.baseline);
    for (size_t k = 0; k < s->space->expression.items[knob].count; k++) {
        if (!route_space_variant(route, s->space, knob, k)) continue;
        const pgy_route_result *r = route_cache_find(&s->cache, str_text(route));
        if (!r || !route_passed(r)) continue;
        if (!baseline || !route_passed(baseline) || r->gpu_time_ms < HELPED * baseline->gpu_time_ms)
            return true;
    }
    return false;
}

static pgy_status try_helpful(pgy_route_search *s, pgy_error *err)
{
    const size_t count = s->space->expression.count;
    bool *helped = mem_calloc(count, sizeof *helped);
    size_t some = 0;
    strvec routes = {0};
    str route = {0};
    if (!helped) return no_memory(err);
    for (size_t i = 0; i < count; i++) some += helped[i] = has_helped(s, i, &route);
    LOG(INFO, "%zu of %zu knobs made a route faster; their combinations follow", some, count);
    pgy_status st = route_space_combine(&routes, s->space, helped, err);
    if (!st) st = try_list(s, (const char *const *)routes.items, routes.count, err);
    strvec_deinit(&routes);
    str_deinit(&route);
    mem_free(helped);
    return st;
}

pgy_status pgy_route_search_run(pgy_route_search *s, pgy_error *err)
{
    const bool is_full = s->options.strategy == PGY_ROUTE_FULL;
    const char *const *routes = NULL;
    size_t count = 0;
    s->begin_ns = clock_ns();
    pgy_status st = s->options.resume ? PGY_OK : keep_old(s->options.cache, err);
    if (!st) st = route_cache_save(&s->cache, s->options.cache, err);
    if (!st)
        st = pgy_route_space_list(&routes, &count, s->space,
                                  is_full ? PGY_ROUTE_FULL : PGY_ROUTE_FAST, err);
    if (!st) st = try_list(s, routes, count, err);
    if (!st && s->options.strategy == PGY_ROUTE_MIXED && !s->left) st = try_helpful(s, err);
    route_mark_front(s->cache.results, s->cache.count);
    if (!st && !pgy_route_search_fastest(s))
        st = pgy_error_set(err, PGY_E_BACKEND,
                           "none of %zu build routes gave an engine that passes", s->cache.count);
    return st;
}

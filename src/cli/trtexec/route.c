/* SPDX-License-Identifier: Apache-2.0 */
/* Build routes: the options of a search, the command of its processes, and what it prints. */
#include "cli/trtexec/route.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/printable.h"
#include "cli/trtexec/accuracy.h"

static const char LOG_PATH[] = "cli/trtexec/route.c";
static const char CACHE[] = "best_config.json";

bool route_is_search(const trtexec_args *a)
{
    return a->routes || a->routes_file;
}

/* ---- Checks --------------------------------------------------------------------------------- */

static pgy_status check_together(const trtexec_session *s, pgy_error *err)
{
    static const char *const NEVER[] = {
        "--loadEngine", "--skipInference",      "--buildOnly",     "--timeDeserialize",
        "--timeRefit",  "--getPlanVersionOnly", "--setBuildRoute", "--tuningResultFile"};
    const trtexec_args *a = s->a;
    const char *option = a->routes ? "--tuneBuildRoutes" : "--tuneBuildRouteFile";
    if (a->routes && a->routes_file)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--tuneBuildRoutes and --tuneBuildRouteFile exclude each other");
    for (size_t i = 0; i < sizeof NEVER / sizeof *NEVER; i++)
        if (trtexec_given(a, NEVER[i]))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "%s and %s exclude each other: a search builds and runs a model",
                                 option, NEVER[i]);
    if (s->loop.duration_s < 0)
        return pgy_error_set(err, PGY_E_ARGUMENT, "%s: --duration=-1 would never end the first run",
                             option);
    if (a->keep_all_plans && !a->save_engine)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--saveAllEngines needs --saveEngine, which names the plans");
    return PGY_OK;
}

static pgy_status read_strategy(pgy_route_strategy *out, const trtexec_args *a, pgy_error *err)
{
    static const char *const NAMES[] = {"fast", "full", "mixed"};
    const char *name = a->strategy ? a->strategy : "fast";
    for (size_t i = 0; i < 3; i++) {
        *out = (pgy_route_strategy)i;
        if (!strcmp(NAMES[i], name)) return PGY_OK;
    }
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "--tuningSearch: '%s' is not one of fast, full, mixed",
                         printable_name(name));
}

static pgy_status read_expression(const char **out, trtexec_session *s, pgy_error *err)
{
    const char *path = NULL;
    str text = {0};
    *out = s->a->routes;
    if (*out) return PGY_OK;
    pgy_status st = trtexec_path(&path, s->a->routes_file, &s->line->memory, err);
    if (!st) st = file_read(&text, path, err);
    if (!st && strlen(str_text(&text)) != text.size)
        st = pgy_error_set(err, PGY_E_FORMAT, "%s is no text: it has NUL bytes", path);
    if (!st) *out = arena_strdup(&s->line->memory, str_text(&text));
    if (!st && !*out) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    str_deinit(&text);
    return st;
}

/* ---- The command of a candidate ------------------------------------------------------------- */

/* Options of the search itself, whose value every candidate gets from the search. */
static const char *const OWN[] = {"--tuneBuildRoutes", "--tuneBuildRouteFile", "--tuningSearch",
                                  "--tuningCacheFile", "--tuningTimeOut",      "--saveAllEngines",
                                  "--dryRun",          "--continue",           "--saveEngine",
                                  "--setBuildRoute",   "--helpBuildRoute",     NULL};
/* Files that each candidate would write over, and prints that nobody sees. */
static const char *const SINGLE[] = {"--exportTimes",
                                     "--exportOutput",
                                     "--exportProfile",
                                     "--exportLayerInfo",
                                     "--exportTrace",
                                     "--traceRuns",
                                     "--dumpOutput",
                                     "--dumpProfile",
                                     "--dumpLayerInfo",
                                     "--dumpRefit",
                                     "--dumpRawBindingsToFile",
                                     "--dumpOptimizationProfile",
                                     "--saveDebugTensors",
                                     "--saveAllDebugTensors",
                                     "--report",
                                     "--json",
                                     "--compare",
                                     "--failOnRegression",
                                     NULL};

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name)) names++;
    return *names != NULL;
}

static pgy_status make_command(pgy_route_options *o, trtexec_session *s, pgy_error *err)
{
    char self[4096];
    arena *a = &s->line->memory;
    const char **words = arena_alloc_array(a, s->a->word_count + 1, sizeof *words);
    const ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size < 0)
        return pgy_error_set(err, PGY_E_IO, "/proc/self/exe cannot be read: %s", strerror(errno));
    self[size] = '\0';
    if (!words) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    words[o->command_count++] = arena_strdup(a, self);
    for (size_t i = 0; i < s->a->word_count; i++) {
        const trtexec_word *w = &s->a->words[i];
        if (is_one_of(w->name, OWN)) continue;
        if (is_one_of(w->name, SINGLE)) {
            LOG(WARNING, "%s has no effect in a search of build routes", w->name);
            continue;
        }
        words[o->command_count++] =
            w->value ? arena_printf(a, "%s=%s", w->name, w->value) : arena_strdup(a, w->name);
    }
    for (size_t i = 0; i < o->command_count; i++)
        if (!words[i]) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    o->command = words;
    return PGY_OK;
}

/* ---- Progress ------------------------------------------------------------------------------- */

static void print_task(const char *word, size_t iteration, const char *route)
{
    str text = {0};
    str_append_printable(&text, route, strlen(route), "");
    fprintf(console_stream(), "&&&& %s [iter=%zu] BuildRoute = '%s'\n", word, iteration,
            str_text(&text));
    fflush(console_stream());
    str_deinit(&text);
}

static void begin_task(size_t iteration, const char *route, void *user)
{
    (void)user;
    print_task("TASK_BEGIN", iteration, route);
}

static void end_task(size_t iteration, const char *route, const pgy_route_result *r,
                     const char *output, void *user)
{
    (void)user;
    if (*output) LOG(VERBOSE, "%s", output);
    if (r && !r->error[0]) {
        str losses = {0};
        for (size_t i = 0; i < r->loss_count; i++)
            str_printf(&losses, ", loss of %s = %g", printable_name(r->losses[i].name),
                       r->losses[i].loss);
        LOG(INFO, "[iter=%zu] GPU Compute Time: median = %g ms, plan = %g KiB%s%s", iteration,
            r->gpu_time_ms, (double)r->plan_bytes / 1024, str_text(&losses),
            r->accuracy_failed ? ": the loss is too large" : "");
        str_deinit(&losses);
    } else if (r) {
        LOG(WARNING, "[iter=%zu] %s: %s", iteration, r->crash ? "crash" : "failure",
            printable_name(r->error));
    }
    print_task(r && !r->error[0] ? "TASK_END" : "TASK_ABORT", iteration, route);
}

/* ---- The search ----------------------------------------------------------------------------- */

static pgy_status list_routes(const pgy_route_options *o, pgy_error *err)
{
    pgy_route_space *space = NULL;
    const char *const *routes = NULL;
    size_t count = 0;
    if (o->strategy == PGY_ROUTE_MIXED)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--dryRun: the routes of --tuningSearch=mixed depend on its results");
    pgy_status st = pgy_route_space_create(&space, o->expression, o->config, o->calibration, err);
    if (!st) st = pgy_route_space_list(&routes, &count, space, o->strategy, err);
    for (size_t i = 0; !st && i < count; i++) LOG(INFO, "[iter=%zu] %s", i, routes[i]);
    if (!st) LOG(INFO, "%zu build routes; --dryRun builds none.", count);
    pgy_route_space_destroy(space);
    return st;
}

static void print_settings(const pgy_route_options *o, const trtexec_args *a)
{
    LOG(INFO, "=== Build Route Tuning Options ===");
    LOG(INFO, "Model: %s", a->onnx);
    LOG(INFO, "Build routes: %s", printable_name(o->expression));
    LOG(INFO, "Search: %s", a->strategy ? a->strategy : "fast");
    LOG(INFO, "Cache file: %s", o->cache);
    LOG(INFO, "Time limit: %s", a->time_limit ? a->time_limit : "none");
    LOG(INFO, "Save engine: %s", o->save_plan ? o->save_plan : "");
    LOG(INFO, "Save all engines: %s", o->keep_all_plans ? "Enabled" : "Disabled");
}

static pgy_status run_search(const pgy_route_options *o, pgy_error *err)
{
    pgy_route_search *search = NULL;
    char *text = NULL;
    pgy_error ignored = {0};
    pgy_status st = pgy_route_search_create(&search, o, err);
    if (st) return st;
    st = pgy_route_search_run(search, err);
    if (pgy_route_search_count(search) && !pgy_route_search_text(&text, search, &ignored)) {
        LOG(INFO, "=== Build Routes ===");
        console_text(text);
    }
    if (pgy_route_search_left(search))
        LOG(WARNING, "%zu routes were not tried; 'trtexec --continue --tuningCacheFile=%s' goes on",
            pgy_route_search_left(search), o->cache);
    if (o->save_plan && pgy_route_search_fastest(search))
        LOG(INFO, "The plan of the fastest route is %s", o->save_plan);
    pgy_text_free(text);
    pgy_route_search_destroy(search);
    return st;
}

/* The baseline is what the options say without a route. */
static pgy_status read_options(pgy_route_options *o, trtexec_session *s, pgy_error *err)
{
    const trtexec_args *a = s->a;
    arena *memory = &s->line->memory;
    pgy_status st = check_together(s, err);
    if (!st) st = read_strategy(&o->strategy, a, err);
    if (!st) st = read_expression(&o->expression, s, err);
    if (!st && a->time_limit)
        st = trtexec_real(&o->timeout_s, a->time_limit, "--tuningTimeOut", -1, err);
    if (!st) st = trtexec_path(&o->cache, a->results ? a->results : CACHE, memory, err);
    if (!st && a->save_engine) st = trtexec_path(&o->save_plan, a->save_engine, memory, err);
    if (!st) st = trtexec_path(&o->model, a->onnx, memory, err);
    if (!st) st = accuracy_for_routes(o, s, err);
    if (!st) st = make_command(o, s, err);
    o->keep_all_plans = a->keep_all_plans;
    o->resume = a->resume;
    return st;
}

pgy_status route_search(trtexec_session *s, pgy_error *err)
{
    pgy_route_options o = pgy_route_options_default();
    pgy_build_config config;
    const pgy_calibration calibration = {.size = sizeof calibration};
    o.command_line = s->line->command;
    o.arguments = s->argv;
    o.argument_count = (size_t)s->argc;
    o.begin = begin_task;
    o.end = end_task;
    pgy_status st = read_options(&o, s, err);
    if (!st) st = session_config(&config, s, err);
    if (st) return st;
    o.config = &config;
    o.calibration = &calibration;
    if (s->a->dry_run) return list_routes(&o, err);
    print_settings(&o, s->a);
    return run_search(&o, err);
}

/* ---- --continue ----------------------------------------------------------------------------- */

pgy_status route_resume(trtexec_session *s, pgy_error *err)
{
    trtexec_args *a = s->a;
    arena *memory = &s->line->memory;
    const char *path = NULL, *kept = a->results ? a->results : CACHE;
    const char **words = NULL;
    char **arguments = NULL;
    size_t count = 0;
    bool help = false, unknown = false;
    for (size_t i = 0; i < a->word_count; i++)
        if (strcmp(a->words[i].name, "--continue") && strcmp(a->words[i].name, "--tuningCacheFile"))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "--continue takes all options from --tuningCacheFile; %s may not "
                                 "be given",
                                 a->words[i].name);
    pgy_status st = trtexec_path(&path, kept, memory, err);
    if (!st) st = pgy_route_arguments_load(&arguments, &count, path, err);
    if (st) return st;
    words = arena_alloc_array(memory, count + 1, sizeof *words);
    for (size_t i = 0; words && i < count; i++) words[i] = arena_strdup(memory, arguments[i]);
    pgy_route_arguments_free(arguments, count);
    for (size_t i = 0; i < count; i++)
        if (!words || !words[i]) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    a->word_count = 0;
    st = trtexec_read(a, &help, &unknown, s->line, (int)count, words, err);
    if (st) return pgy_error_prefix(err, st, "%s: ", path);
    a->results = kept;
    a->resume = true;
    if (!route_is_search(a))
        return pgy_error_set(err, PGY_E_FORMAT, "%s: its options are not those of a search", path);
    return PGY_OK;
}

/* ---- Help, and the answer to a search ------------------------------------------------------- */

pgy_status route_help(const char *name, pgy_error *err)
{
    char *text = NULL;
    const pgy_status st = pgy_route_knobs_json(&text, name && *name ? name : NULL, err);
    if (st) return pgy_error_prefix(err, st, "--helpBuildRoute: ");
    puts(text);
    pgy_text_free(text);
    return PGY_OK;
}

pgy_status route_answer(pgy_status st, trtexec_session *s, const pgy_perf_trace *t,
                        const pgy_tensor_map *outputs, pgy_error *err)
{
    pgy_perf_stats compute = {0};
    pgy_route_answer answer = {.size = sizeof answer,
                               .accuracy_failed = s->accuracy_failed,
                               .losses = s->losses,
                               .loss_count = s->loss_count};
    pgy_error why = {0};
    if (!s->a->answer) return st;
    if (!s->loss_count) answer.outputs = outputs;
    pgy_status done = pgy_perf_summarize(&compute, t, PGY_PERF_COMPUTE, &why);
    answer.gpu_time_ms = compute.median;
    if (!done) done = pgy_route_answer_save(s->a->answer, &answer, &why);
    return done ? pgy_error_set(err, done, "--tuningResultFile: %s", why.text) : st;
}

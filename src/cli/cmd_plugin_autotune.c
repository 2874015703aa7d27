/* SPDX-License-Identifier: Apache-2.0 */
/* plugin autotune: finds the plugins that make a model fastest on the built-in engine. Plugins'
 * operators come from shared objects (polygraphy/operator.h). */
#include <polygraphy/operator.h>
#include <polygraphy/plugin_tune.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/pytext.h"
#include "cli/groups/model.h"
#include "cli/groups/plugins.h"

static const char LOG_PATH[] = "tools/plugin/subtool/autotune.py";

typedef struct autotune_args {
    const char *model, *output, *mode, *threshold_text, *timing_cache, *save_config, *load_config;
    const char *report;
    pgy_text_list python_plugins, libraries;
    int64_t max_combinations;
    bool no_timing_cache, skip;
    double threshold;
} autotune_args;

static const char *const MODES[] = {"greedy", "exhaustive", NULL};

static const pgy_option OPTIONS[] = {
    PGY_OPT_POSITIONAL("model", autotune_args, model, .help = "path to the model"),
    PGY_OPT_TEXT("-o --output", autotune_args, output, .required = true, .meta = "PATH",
                 .help = "file for the fastest model"),
    PGY_OPT_LIST("--python-plugins", autotune_args, python_plugins, .nargs = PGY_ONE_OR_MORE,
                 .meta = "PATH",
                 .help = "no effect: the engine runs no Python; see --plugin-libraries"),
    PGY_OPT_LIST("--plugin-libraries", autotune_args, libraries, .nargs = PGY_ONE_OR_MORE,
                 .meta = "PATH",
                 .help = "load shared objects with the operators of the plugins "
                         "(polygraphy/operator.h); a library that fails to load causes a warning"),
    PGY_OPT_TEXT("--autotune-mode", autotune_args, mode, .choices = MODES,
                 .help = "greedy (default): try one match after the other and keep it if the model "
                         "becomes faster; exhaustive: try all sets of matches"),
    PGY_OPT_INT(
        "--max-combinations", autotune_args, max_combinations, .meta = "N",
        .help = "exhaustive: largest number of sets to try, including the empty one; default 1000"),
    PGY_OPT_TEXT(
        "--threshold", autotune_args, threshold_text, .meta = "FRACTION",
        .help =
            "exhaustive: stop when the latency has fallen by more than this fraction; default 0.1"),
    PGY_OPT_TEXT("--timing-cache", autotune_args, timing_cache, .meta = "PATH",
                 .help = "read kernel times from this file and add new ones; without it the times "
                         "are kept in memory for this search"),
    PGY_OPT_FLAG("--no-timing-cache", autotune_args, no_timing_cache,
                 .help = "measure all kernels again for each model"),
    PGY_OPT_TEXT("--save-config-yaml", autotune_args, save_config, .nargs = PGY_OPTIONAL,
                 .constant = "", .meta = "PATH",
                 .help =
                     "file for the matches of the plugins; default: config.yaml beside the model"),
    PGY_OPT_TEXT(
        "--load-config-yaml", autotune_args, load_config, .meta = "PATH",
        .help = "read the matches of the plugins from this file instead of searching the model"),
    PGY_OPT_FLAG("--skip-autotuning", autotune_args, skip,
                 .help = "stop after the search for matches"),
    PGY_OPT_TEXT("--report", autotune_args, report, .meta = "PATH",
                 .help = "file for a report of the search"),
    PGY_OPT_END,
};

static void set_defaults(void *settings)
{
    *(autotune_args *)settings = (autotune_args){.max_combinations = 1000, .threshold = 0.1};
}

static pgy_status finish(void *settings, args *line, pgy_error *err)
{
    autotune_args *s = settings;
    char *end;
    (void)line;
    if (s->threshold_text) {
        s->threshold = text_to_double(s->threshold_text, &end);
        if (end == s->threshold_text || *end || !(s->threshold >= 0))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "--threshold: '%s' is not a number of at least 0",
                                 s->threshold_text);
    }
    if (s->max_combinations < 1)
        return pgy_error_set(err, PGY_E_ARGUMENT, "--max-combinations: %lld is less than 1",
                             (long long)s->max_combinations);
    return PGY_OK;
}

static const option_group OWN = {
    .options = OPTIONS, ARGS_TYPE(autotune_args), .defaults = set_defaults, .finish = finish};
static const option_group *const GROUPS[] = {&OWN, &GROUP_PLUGINS, &GROUP_LOGGING,
                                             &GROUP_ONNX_WRITE, NULL};

static void load_libraries(const autotune_args *s)
{
    pgy_error why = {0};
    if (s->python_plugins.given)
        LOG(WARNING, "--python-plugins has no effect: the engine runs no Python; give the "
                     "operators with --plugin-libraries");
    if (s->libraries.count) LOG(INFO, "Loading plugin libraries...");
    for (size_t i = 0; i < s->libraries.count; i++) {
        const char *path = s->libraries.items[i], *slash = strrchr(path, '/');
        if (pgy_operators_load(path, &why))
            LOG(WARNING, "%s", why.text);
        else
            LOG(INFO, "  Loaded: %s", slash ? slash + 1 : path);
    }
}

/* ---- What matches --------------------------------------------------------------------------- */

static pgy_status save_config(const pgy_plugin_config *found, const autotune_args *s,
                              pgy_error *err)
{
    const bool given = s->save_config && *s->save_config;
    char *beside = given ? NULL : plugins_beside(s->model, "config.yaml");
    const char *path = given ? s->save_config : beside;
    if (!path) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    const pgy_status st = pgy_plugin_config_save(found, path, err);
    if (!st) LOG(INFO, "Matching subgraphs saved to %s", path);
    mem_free(beside);
    return st;
}

static pgy_status get_config(pgy_plugin_config **out, pgy_model *model, const args *line,
                             pgy_error *err)
{
    const autotune_args *s = args_get(line, &OWN);
    const plugins_args *plugins = plugins_settings(line);
    pgy_plugin_names names = {0};
    pgy_status st = plugins_choose(&names, plugins, err);
    if (st) return st;
    LOG(INFO, "Loaded %zu plugin(s) from %s", names.count, plugins->dir);
    pgy_plugin_names_free(&names);
    if (s->load_config) {
        LOG(INFO, "Loading plugin config from %s", s->load_config);
        return pgy_plugin_config_load(out, s->load_config, err);
    }
    st = plugins_match(out, plugins, model, s->model, err);
    return st ? st : save_config(*out, s, err);
}

/* ---- The search ----------------------------------------------------------------------------- */

static pgy_status open_cache(pgy_timing_cache **out, const autotune_args *s, pgy_error *err)
{
    pgy_error why = {0};
    if (s->no_timing_cache) return PGY_OK;
    if (s->timing_cache) LOG(INFO, "Loading timing cache from %s", s->timing_cache);
    pgy_status st =
        s->timing_cache ? pgy_timing_cache_load(out, s->timing_cache, &why) : PGY_E_NOT_FOUND;
    if (st && st != PGY_E_NOT_FOUND) LOG(WARNING, "%s", why.text);
    return st ? pgy_timing_cache_create(out, err) : PGY_OK;
}

static pgy_status save_report(const pgy_plugin_tuning *t, const char *path, pgy_error *err)
{
    char *text = NULL;
    LOG(INFO, "Saving optimization report to %s", path);
    pgy_status st = pgy_plugin_tuning_text(&text, t, err);
    if (!st) st = file_write_all(path, text, strlen(text), err);
    if (!st) LOG(INFO, "Optimization report saved to: %s", path);
    pgy_text_free(text);
    return st;
}

static pgy_status save_cache(pgy_timing_cache *cache, const char *path, pgy_error *err)
{
    if (!cache || !path) return PGY_OK;
    LOG(INFO, "Saving timing cache to %s", path);
    return pgy_timing_cache_save_merged(cache, path, err);
}

static pgy_status save_fastest(const pgy_plugin_tuning *t, const args *line, pgy_error *err)
{
    const autotune_args *s = args_get(line, &OWN);
    pgy_model *fastest = pgy_plugin_tuning_model(t);
    if (!fastest) return pgy_error_set(err, PGY_E_NOT_FOUND, "No optimization strategy found");
    pgy_status st = model_save(fastest, line, s->output, NULL, err);
    if (!st) LOG(INFO, "Optimized model saved to: %s", s->output);
    if (!st && s->report) st = save_report(t, s->report, err);
    return st;
}

static pgy_status tune(pgy_model *model, const pgy_plugin_config *found, const args *line,
                       pgy_error *err)
{
    const autotune_args *s = args_get(line, &OWN);
    pgy_plugin_tune_options o = {.size = sizeof o,
                                 .dir = plugins_settings(line)->dir,
                                 .exhaustive = s->mode && !strcmp(s->mode, "exhaustive"),
                                 .max_combinations = s->max_combinations,
                                 .threshold = s->threshold};
    pgy_plugin_tuning *tuning = NULL;
    pgy_status st = open_cache(&o.cache, s, err);
    if (!st) st = pgy_plugin_tune(&tuning, model, found, &o, err);
    if (!st) st = save_cache(o.cache, s->timing_cache, err);
    if (!st) st = save_fastest(tuning, line, err);
    if (!st) LOG(FINISH, "Optimization completed successfully!");
    pgy_plugin_tuning_destroy(tuning);
    pgy_timing_cache_destroy(o.cache);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const autotune_args *s = args_get(line, &OWN);
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    pgy_plugin_config *found = NULL;
    (void)passed;
    load_libraries(s);
    pgy_status st = pgy_loader_from_path(&loader, s->model, NULL, err);
    if (!st) st = pgy_loader_call(&model, loader, err);
    if (!st) st = get_config(&found, model, line, err);
    if (!st && !s->skip) st = tune(model, found, line, err);
    pgy_plugin_config_destroy(found);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    return st;
}

const command COMMAND_plugin_autotune = {
    .tool = "plugin",
    .subtool = "autotune",
    .summary = "Find the plugins that make a model fastest.",
    .description = "Replace matches by plugin nodes, measure the model with different sets of "
                   "plugin nodes on the built-in engine, and save the fastest model. This does not "
                   "compare results; 'run' does.",
    .groups = GROUPS,
    .run = run,
};

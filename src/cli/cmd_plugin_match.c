/* SPDX-License-Identifier: Apache-2.0 */
/* plugin match: writes the places where plugins could be used into a file for 'plugin replace'. */
#include "base/alloc.h"
#include "base/log.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/plugins.h"

static const char LOG_PATH[] = "tools/plugin/subtool/match.py";

typedef struct match_args {
    const char *output;
} match_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", match_args, output, .meta = "PATH",
                 .help = "file for the matches; default: config.yaml beside the model"),
    PGY_OPT_END,
};
static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(match_args)};
static const option_group *const GROUPS[] = {&OWN,
                                             &GROUP_PLUGINS,
                                             &GROUP_LOGGING,
                                             &GROUP_MODEL_CONVERT,
                                             &GROUP_ONNX_SHAPE,
                                             &GROUP_ONNX_LOAD,
                                             &GROUP_DATA,
                                             NULL};

static pgy_status save(const pgy_plugin_config *found, const args *line, pgy_error *err)
{
    const match_args *s = args_get(line, &OWN);
    char *beside = s->output ? NULL : plugins_beside(model_path(line), "config.yaml");
    const char *path = s->output ? s->output : beside;
    if (!path) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    const pgy_status st = pgy_plugin_config_save(found, path, err);
    if (!st) LOG(INFO, "Matching subgraphs saved to %s", path);
    mem_free(beside);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_plugin_config *found = NULL;
    const char *path;
    (void)passed;
    pgy_status st = plugins_load(&model, &path, line, err);
    if (!st) st = plugins_match(&found, plugins_settings(line), model, path, err);
    if (!st) st = save(found, line, err);
    pgy_plugin_config_destroy(found);
    pgy_model_destroy(model);
    return st;
}

const command COMMAND_plugin_match = {
    .tool = "plugin",
    .subtool = "match",
    .summary = "Find the matches of plugins in a model.",
    .description = "Find the subgraphs of a model that plugins can replace, and write them to a "
                   "file for 'plugin replace'.",
    .groups = GROUPS,
    .run = run,
};

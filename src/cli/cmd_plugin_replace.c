/* SPDX-License-Identifier: Apache-2.0 */
/* plugin replace: replaces the places that 'plugin match' found by nodes of plugins. */
#include "base/alloc.h"
#include "base/log.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/plugins.h"

typedef struct replace_args {
    const char *output, *config;
} replace_args;

static const pgy_option OPTIONS[] = {
    PGY_OPT_TEXT("-o --output", replace_args, output, .meta = "PATH",
                 .help = "file for the new model; default: replaced.onnx beside the model"),
    PGY_OPT_TEXT("--config", replace_args, config, .meta = "PATH",
                 .help = "file that 'plugin match' wrote; default: config.yaml beside the model"),
    PGY_OPT_END,
};
static const option_group OWN = {.options = OPTIONS, ARGS_TYPE(replace_args)};
static const option_group *const GROUPS[] = {&OWN,
                                             &GROUP_PLUGINS_DIR,
                                             &GROUP_LOGGING,
                                             &GROUP_MODEL_CONVERT,
                                             &GROUP_ONNX_SHAPE,
                                             &GROUP_ONNX_LOAD,
                                             &GROUP_DATA,
                                             NULL};

static pgy_status replace_all(pgy_gs_graph **graph, const args *line, const char *config,
                              pgy_error *err)
{
    pgy_plugin_config *found = NULL;
    pgy_status st = pgy_plugin_config_load(&found, config, err);
    for (size_t i = 0; !st && i < found->count; i++)
        st = plugins_replace(graph, plugins_settings(line), &found->plugins[i], err);
    pgy_plugin_config_destroy(found);
    return st;
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const replace_args *s = args_get(line, &OWN);
    pgy_model_save_options embedded = pgy_model_save_options_default();
    char *config = plugins_beside(model_path(line), "config.yaml");
    char *output = plugins_beside(model_path(line), "replaced.onnx");
    pgy_model *model = NULL;
    pgy_gs_graph *graph = NULL;
    const char *unused;
    (void)passed;
    embedded.embed = true;
    pgy_status st = config && output ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) st = plugins_load(&model, &unused, line, err);
    if (!st) st = pgy_gs_import(&graph, model, err);
    if (!st) st = replace_all(&graph, line, s->config ? s->config : config, err);
    if (!st) st = model_save_graph(graph, line, s->output ? s->output : output, &embedded, err);
    pgy_gs_destroy(graph);
    pgy_model_destroy(model);
    mem_free(output);
    mem_free(config);
    return st;
}

const command COMMAND_plugin_replace = {
    .tool = "plugin",
    .subtool = "replace",
    .summary = "Replace matches by plugin nodes.",
    .description =
        "Replace each match that 'plugin match' wrote to a file by one node. The file may be "
        "edited before. Only plugins that define replace_with_plugin need Python.",
    .groups = GROUPS,
    .run = run,
};

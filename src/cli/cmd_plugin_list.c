/* SPDX-License-Identifier: Apache-2.0 */
/* plugin list: counts the places in a model where each plugin could be used. */
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/plugins.h"

static const option_group *const GROUPS[] = {&GROUP_PLUGINS,
                                             &GROUP_LOGGING,
                                             &GROUP_MODEL_CONVERT,
                                             &GROUP_ONNX_SHAPE,
                                             &GROUP_ONNX_LOAD,
                                             &GROUP_DATA,
                                             NULL};

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_plugin_config *found = NULL;
    const char *path;
    (void)passed;
    pgy_status st = plugins_load(&model, &path, line, err);
    if (!st) st = plugins_match(&found, plugins_settings(line), model, path, err);
    pgy_plugin_config_destroy(found);
    pgy_model_destroy(model);
    return st;
}

const command COMMAND_plugin_list = {
    .tool = "plugin",
    .subtool = "list",
    .summary = "Count the matches of plugins in a model.",
    .description = "Show how many subgraphs of a model each plugin of a folder can replace.",
    .groups = GROUPS,
    .run = run,
};

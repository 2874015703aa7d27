/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of plugins and their folder. */
#ifndef CLI_GROUPS_PLUGINS_H
#define CLI_GROUPS_PLUGINS_H

#include <polygraphy/plugin.h>

#include "cli/command.h"

typedef struct plugins_args {
    const char *dir;
    pgy_text_list include, exclude;
} plugins_args;
extern const option_group GROUP_PLUGINS;     /* folder and names */
extern const option_group GROUP_PLUGINS_DIR; /* the folder alone */

/* The settings of whichever of the two groups the line's command has. */
const plugins_args *plugins_settings(const args *line);
/* The chosen plugins, sorted. A name without a plugin is an error. */
pgy_status plugins_choose(pgy_plugin_names *out, const plugins_args *s,
                          pgy_error *err) PGY_MUST_CHECK;
/* Finds the places for the chosen plugins in a model, and logs them. `path` as for
 * pgy_plugin_match. */
pgy_status plugins_match(pgy_plugin_config **out, const plugins_args *s, pgy_model *model,
                         const char *path, pgy_error *err) PGY_MUST_CHECK;
/* Loads the model of this line. *path is its file if the model is unchanged, else NULL. */
pgy_status plugins_load(pgy_model **out, const char **path, args *line,
                        pgy_error *err) PGY_MUST_CHECK;
/* "dir/of/model/name", owned; NULL: out of memory. */
char *plugins_beside(const char *model, const char *name);
/* Calls pgy_plugin_apply, and logs how many places were replaced. */
pgy_status plugins_replace(pgy_gs_graph **graph, const plugins_args *s,
                           const pgy_plugin_places *plugin, pgy_error *err) PGY_MUST_CHECK;

#endif

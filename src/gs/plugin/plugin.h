/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin configurations: the private struct behind the public one, and its conversion from YAML or
 * JSON. */
#ifndef GS_PLUGIN_PLUGIN_H
#define GS_PLUGIN_PLUGIN_H

#include <polygraphy/plugin.h>

#include "base/json.h"

/* What pgy_plugin_config.internal points to. */
typedef struct plugin_config {
    pgy_plugin_config config;
    arena memory;
} plugin_config;

/* Reads a configuration from a parsed list of {"name", "op", "instances"}; skips null items. */
pgy_status plugin_config_read(pgy_plugin_config **out, const json_value *list, const char *where,
                              pgy_error *err) PGY_MUST_CHECK;
/* Writes the instances of one plugin as JSON, for the Python helper process. */
pgy_status plugin_instances_json(str *out, const pgy_plugin_places *p,
                                 pgy_error *err) PGY_MUST_CHECK;

#endif

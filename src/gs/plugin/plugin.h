/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin configurations: the private side of the public struct, and their tree form. */
#ifndef GS_PLUGIN_PLUGIN_H
#define GS_PLUGIN_PLUGIN_H

#include <polygraphy/plugin.h>

#include "base/json.h"

/* What pgy_plugin_config.internal points to. */
typedef struct plugin_config {
    pgy_plugin_config config;
    arena memory;
} plugin_config;

/* From a list of {"name", "op", "instances"}, as read from YAML or JSON; skips nulls. */
pgy_status plugin_config_read(pgy_plugin_config **out, const json_value *list, const char *where,
                              pgy_error *err) PGY_MUST_CHECK;
/* The instances of one plugin as JSON, for the helper process. */
pgy_status plugin_instances_json(str *out, const pgy_plugin_places *p,
                                 pgy_error *err) PGY_MUST_CHECK;

#endif

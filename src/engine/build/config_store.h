/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration as a list of settings, which plans keep. Fields with their default are not in it,
 * and lists have a setting for each entry. */
#ifndef ENGINE_BUILD_CONFIG_STORE_H
#define ENGINE_BUILD_CONFIG_STORE_H

#include <polygraphy/build_config.h>

#include "base/arena.h"

typedef struct config_setting {
    const char *field; /* of pgy_build_config */
    const char *text;  /* of an entry, or the name of an enumerator; NULL: none */
    int64_t value;     /* flag, number, or element type as in ONNX files */
} config_setting;

/* Settings in the order of the fields. False ends it. */
bool config_save(const pgy_build_config *config, bool (*put)(const config_setting *s, void *user),
                 void *user);
/* A configuration from `count` settings; their texts must live as long as it. PGY_E_FORMAT names a
 * field that is not known or a value that it cannot have. */
pgy_status config_load(pgy_build_config **out, config_setting (*at)(size_t i, const void *user),
                       const void *user, size_t count, arena *memory,
                       pgy_error *err) PGY_MUST_CHECK;

#endif

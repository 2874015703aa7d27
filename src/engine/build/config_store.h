/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration as a list of settings, as plans store it. Fields that have their default are left
 * out, and a list becomes one setting for each entry. */
#ifndef ENGINE_BUILD_CONFIG_STORE_H
#define ENGINE_BUILD_CONFIG_STORE_H

#include <polygraphy/build_config.h>

#include "base/arena.h"

typedef struct config_setting {
    const char *field; /* name of a field of pgy_build_config */
    const char *text;  /* text of the field or list entry, or name of an enumerator; NULL: none */
    int64_t value;     /* flag, number, or element type as in ONNX files */
} config_setting;

/* Calls `put` for each setting, in the order of the fields. Stops and returns false when `put`
 * does. */
bool config_save(const pgy_build_config *config, bool (*put)(const config_setting *s, void *user),
                 void *user);
/* Makes a configuration from `count` settings; it borrows their texts. PGY_E_FORMAT names an
 * unknown field or an invalid value. */
pgy_status config_load(pgy_build_config **out, config_setting (*at)(size_t i, const void *user),
                       const void *user, size_t count, arena *memory,
                       pgy_error *err) PGY_MUST_CHECK;

#endif

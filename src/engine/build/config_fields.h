/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of polygraphy/build_config_fields.h as a table. The code that copies, stores and shows
 * a configuration goes through this table and knows no field by name. */
#ifndef ENGINE_BUILD_CONFIG_FIELDS_H
#define ENGINE_BUILD_CONFIG_FIELDS_H

#include <polygraphy/build_config.h>

typedef enum config_kind {
    CONFIG_FLAG, /* bool */
    CONFIG_BOOL = CONFIG_FLAG,
    CONFIG_NUMBER, /* 8-byte integer */
    CONFIG_REAL,   /* double */
    CONFIG_ENUM,
    CONFIG_TEXT,
    CONFIG_NAMES,    /* pgy_name_list */
    CONFIG_TYPES,    /* pgy_type_choice[] */
    CONFIG_FORMATS,  /* pgy_format_choice[] */
    CONFIG_PROFILES, /* pgy_profile[] */
    CONFIG_CALIBRATION,
    CONFIG_MONITOR,
    CONFIG_HOOKS,
    CONFIG_OBJECT /* borrowed from the caller */
} config_kind;

typedef struct config_field {
    const char *name;
    config_kind kind;
    bool stored; /* written into plans */
    size_t offset;
    size_t count_offset;      /* for arrays: offset of the field with the number of entries */
    const char *log;          /* for flags: TensorRT's name; NULL: not in the log */
    const char *const *names; /* for enumerations: names of the enumerators, NULL-ended */
} config_field;

size_t config_field_count(void);
const config_field *config_field_at(size_t i);
const config_field *config_field_find(const char *name); /* NULL: unknown */
/* Number of enumerators of an enumeration field. */
size_t config_name_count(const config_field *f);

#endif

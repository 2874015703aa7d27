/* SPDX-License-Identifier: Apache-2.0 */
/* The table of configuration fields, and the copy of it that bindings and programs get. */
#include "engine/build/config_fields.h"

#include <string.h>

static const char *const CONSTRAINTS[] = {"NONE", "PREFER", "OBEY", NULL};
static const char *const CPU_LEVELS[] = {"NATIVE", "PORTABLE", "AVX2", "AVX512", NULL};
static const char *const CAPABILITIES[] = {"STANDARD", "SAFETY", "DLA_STANDALONE", NULL};
static const char *const WEIGHT_BUDGETS[] = {"ALL", "AUTOMATIC", "BYTES", "PERCENT", NULL};
static const char *const VERBOSITIES[] = {"DETAILED", "LAYER_NAMES_ONLY", "NONE", NULL};

enum { LOCAL = false, STORED = true };

/* The meaning of `detail` in a line of build_config_fields.h, by kind of field. */
#define DETAIL_FLAG(detail) .log = detail
#define DETAIL_BOOL DETAIL_FLAG
#define DETAIL_ENUM(detail) .names = detail
#define DETAIL_COUNT(detail) .count_offset = offsetof(pgy_build_config, detail)
#define DETAIL_NOTHING(detail) .count_offset = 0
#define DETAIL_NUMBER DETAIL_NOTHING
#define DETAIL_REAL DETAIL_NOTHING
#define DETAIL_TEXT DETAIL_NOTHING
#define DETAIL_NAMES DETAIL_NOTHING
#define DETAIL_TYPES DETAIL_COUNT
#define DETAIL_FORMATS DETAIL_COUNT
#define DETAIL_PROFILES DETAIL_COUNT
#define DETAIL_CALIBRATION DETAIL_NOTHING
#define DETAIL_MONITOR DETAIL_NOTHING
#define DETAIL_HOOKS DETAIL_COUNT
#define DETAIL_OBJECT DETAIL_NOTHING

static const config_field FIELDS[] = {
#define FIELD(kind_, member, detail, place, option, help) \
    {.name = #member,                                     \
     .kind = CONFIG_##kind_,                              \
     .stored = place,                                     \
     .offset = offsetof(pgy_build_config, member),        \
     DETAIL_##kind_(detail)},
    PGY_BUILD_CONFIG_FIELDS(FIELD)
#undef FIELD
};
static const pgy_config_field TEXTS[] = {
#define FIELD(kind, member, detail, place, option, help) {#member, option, help},
    PGY_BUILD_CONFIG_FIELDS(FIELD)
#undef FIELD
};
enum { COUNT = sizeof FIELDS / sizeof *FIELDS };

size_t pgy_build_config_fields(const pgy_config_field **out)
{
    *out = TEXTS;
    return COUNT;
}

size_t config_field_count(void)
{
    return COUNT;
}

const config_field *config_field_at(size_t i)
{
    return &FIELDS[i];
}

const config_field *config_field_find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (!strcmp(FIELDS[i].name, name)) return &FIELDS[i];
    return NULL;
}

size_t config_name_count(const config_field *f)
{
    size_t count = 0;
    while (f->names[count]) count++;
    return count;
}

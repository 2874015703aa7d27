/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/build/config_store.h"

#include <string.h>

#include "engine/build/config_fields.h"

_Static_assert(sizeof(size_t) == sizeof(int64_t), "numbers of a configuration have 8 bytes");

/* ---- Saving --------------------------------------------------------------------------------- */

typedef struct saver {
    bool (*put)(const config_setting *s, void *user);
    void *user;
    const char *field;
} saver;

static bool put(const saver *s, const char *text, int64_t value)
{
    const config_setting made = {.field = s->field, .text = text, .value = value};
    return s->put(&made, s->user);
}

static bool save_flag(const saver *s, const config_field *f, const void *at, size_t count)
{
    (void)f, (void)count;
    return !*(const bool *)at || put(s, NULL, 1);
}

static bool save_number(const saver *s, const config_field *f, const void *at, size_t count)
{
    (void)f, (void)count;
    const int64_t value = *(const int64_t *)at;
    return !value || put(s, NULL, value);
}

static bool save_enum(const saver *s, const config_field *f, const void *at, size_t count)
{
    (void)count;
    const int value = *(const int *)at;
    return !value || put(s, f->names[value], 0);
}

static bool save_text(const saver *s, const config_field *f, const void *at, size_t count)
{
    (void)f, (void)count;
    const char *text = *(const char *const *)at;
    return !text || put(s, text, 0);
}

static bool save_names(const saver *s, const config_field *f, const void *at, size_t count)
{
    (void)f, (void)count;
    const pgy_name_list *list = at;
    bool ok = true;
    for (size_t i = 0; ok && i < list->count; i++) ok = put(s, list->items[i], 0);
    return ok;
}

static bool save_types(const saver *s, const config_field *f, const void *at, size_t count)
{
    (void)f;
    const pgy_type_choice *types = *(const pgy_type_choice *const *)at;
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        ok = put(s, types[i].name, types[i].dtype ? pgy_dtype_describe(types[i].dtype)->onnx : 0);
    return ok;
}

bool config_save(const pgy_build_config *config, bool (*put_)(const config_setting *s, void *user),
                 void *user)
{
    static bool (*const SAVE[CONFIG_OBJECT + 1])(const saver *s, const config_field *f,
                                                 const void *at, size_t count) = {
        [CONFIG_FLAG] = save_flag, [CONFIG_NUMBER] = save_number, [CONFIG_ENUM] = save_enum,
        [CONFIG_TEXT] = save_text, [CONFIG_NAMES] = save_names,   [CONFIG_TYPES] = save_types,
    };
    bool ok = true;
    for (size_t i = 0; ok && i < config_field_count(); i++) {
        const config_field *f = config_field_at(i);
        const saver s = {.put = put_, .user = user, .field = f->name};
        const size_t *count = (const size_t *)((const char *)config + f->count_offset);
        if (f->stored) ok = SAVE[f->kind](&s, f, (const char *)config + f->offset, *count);
    }
    return ok;
}

/* ---- Loading -------------------------------------------------------------------------------- */

typedef struct loader {
    pgy_build_config *config;
    size_t most; /* upper bound for the number of entries of a list */
    arena *memory;
} loader;

static bool load_flag(const loader *l, const config_field *f, void *at, const config_setting *s)
{
    (void)l, (void)f;
    *(bool *)at = s->value == 1;
    return s->value == 1;
}

static bool load_number(const loader *l, const config_field *f, void *at, const config_setting *s)
{
    (void)l, (void)f;
    *(int64_t *)at = s->value;
    return true;
}

static bool load_enum(const loader *l, const config_field *f, void *at, const config_setting *s)
{
    (void)l;
    for (int i = 0; s->text && f->names[i]; i++) {
        if (strcmp(f->names[i], s->text)) continue;
        *(int *)at = i;
        return true;
    }
    return false;
}

static bool load_text(const loader *l, const config_field *f, void *at, const config_setting *s)
{
    (void)l, (void)f;
    *(const char **)at = s->text;
    return s->text;
}

static bool load_name(const loader *l, const config_field *f, void *at, const config_setting *s)
{
    (void)f;
    pgy_name_list *list = at;
    if (!list->items) list->items = arena_alloc_array(l->memory, l->most, sizeof *list->items);
    if (!list->items || !s->text) return false;
    ((const char **)list->items)[list->count++] = s->text;
    list->given = true;
    return true;
}

static bool load_type(const loader *l, const config_field *f, void *at, const config_setting *s)
{
    pgy_type_choice **types = at;
    size_t *count = (size_t *)((char *)l->config + f->count_offset);
    const pgy_dtype dtype =
        s->value > 0 && s->value < INT32_MAX ? pgy_dtype_from_onnx((int)s->value) : PGY_DTYPE_NONE;
    if (!*types) *types = arena_alloc_array(l->memory, l->most, sizeof **types);
    if (!*types || !s->text || (s->value && dtype == PGY_DTYPE_NONE)) return false;
    (*types)[(*count)++] = (pgy_type_choice){.name = s->text, .dtype = dtype};
    return true;
}

static bool load_one(const loader *l, const config_setting *s)
{
    static bool (*const LOAD[CONFIG_OBJECT + 1])(const loader *l, const config_field *f, void *at,
                                                 const config_setting *s) = {
        [CONFIG_FLAG] = load_flag, [CONFIG_NUMBER] = load_number, [CONFIG_ENUM] = load_enum,
        [CONFIG_TEXT] = load_text, [CONFIG_NAMES] = load_name,    [CONFIG_TYPES] = load_type,
    };
    const config_field *f = s->field ? config_field_find(s->field) : NULL;
    return f && f->stored && LOAD[f->kind] && LOAD[f->kind](l, f, (char *)l->config + f->offset, s);
}

pgy_status config_load(pgy_build_config **out, config_setting (*at)(size_t i, const void *user),
                       const void *user, size_t count, arena *memory, pgy_error *err)
{
    const loader l = {
        .config = arena_alloc(memory, sizeof *l.config), .most = count, .memory = memory};
    if (!l.config) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a configuration");
    l.config->size = sizeof *l.config;
    for (size_t i = 0; i < count; i++) {
        const config_setting s = at(i, user);
        if (!load_one(&l, &s))
            return pgy_error_set(err, PGY_E_FORMAT,
                                 "setting %zu of its configuration is '%.200s' (text '%.200s', "
                                 "value %lld), which this version does not know",
                                 i, s.field ? s.field : "", s.text ? s.text : "",
                                 (long long)s.value);
    }
    *out = l.config;
    return PGY_OK;
}

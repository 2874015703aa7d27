/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a configuration as JSON: the fields that differ from their defaults. Objects that only
 * this process can use (caches, callbacks) are written as true. */
#include "base/alloc.h"
#include "base/json.h"
#include "engine/build/config.h"
#include "engine/build/config_fields.h"

typedef void (*shower)(json_writer *w, const config_field *f, const void *at, size_t count);

static void show_flag(json_writer *w, const config_field *f, const void *at, size_t count)
{
    (void)count;
    if (*(const bool *)at) json_put_bool(w, f->name, true);
}

static void show_number(json_writer *w, const config_field *f, const void *at, size_t count)
{
    (void)count;
    if (*(const uint64_t *)at) json_put_uint(w, f->name, *(const uint64_t *)at);
}

static void show_real(json_writer *w, const config_field *f, const void *at, size_t count)
{
    (void)count;
    if (*(const double *)at != 0) json_put_real(w, f->name, *(const double *)at);
}

static void show_enum(json_writer *w, const config_field *f, const void *at, size_t count)
{
    (void)count;
    if (*(const int *)at) json_put_text(w, f->name, f->names[*(const int *)at]);
}

static void show_text(json_writer *w, const config_field *f, const void *at, size_t count)
{
    (void)count;
    const char *text = *(const char *const *)at;
    if (text) json_put_text(w, f->name, text);
}

static void put_names(json_writer *w, const char *key, const pgy_name_list *list)
{
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < list->count; i++) json_text(w, list->items[i]);
    json_end_array(w);
}

static void show_names(json_writer *w, const config_field *f, const void *at, size_t count)
{
    (void)count;
    const pgy_name_list *list = at;
    if (list->count) put_names(w, f->name, list);
}

static void show_types(json_writer *w, const config_field *f, const void *at, size_t count)
{
    const pgy_type_choice *types = *(const pgy_type_choice *const *)at;
    if (!count) return;
    json_key(w, f->name);
    json_begin_object(w);
    for (size_t i = 0; i < count; i++)
        json_put_text(w, types[i].name, pgy_dtype_name(types[i].dtype));
    json_end_object(w);
}

static void show_formats(json_writer *w, const config_field *f, const void *at, size_t count)
{
    const pgy_format_choice *formats = *(const pgy_format_choice *const *)at;
    if (!count) return;
    json_key(w, f->name);
    json_begin_object(w);
    for (size_t i = 0; i < count; i++) put_names(w, formats[i].name, &formats[i].formats);
    json_end_object(w);
}

static void put_profile(json_writer *w, const pgy_profile *p)
{
    json_begin_object(w);
    for (size_t i = 0; i < p->range_count; i++) {
        const pgy_profile_range *r = &p->ranges[i];
        json_key(w, r->name);
        json_begin_object(w);
        json_put_ints(w, "min", r->min, r->count);
        json_put_ints(w, "opt", r->opt, r->count);
        json_put_ints(w, "max", r->max, r->count);
        json_end_object(w);
    }
    json_end_object(w);
}

static void show_profiles(json_writer *w, const config_field *f, const void *at, size_t count)
{
    const pgy_profile *profiles = *(const pgy_profile *const *)at;
    if (!count) return;
    json_key(w, f->name);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) put_profile(w, &profiles[i]);
    json_end_array(w);
}

static void show_pointer(json_writer *w, const config_field *f, const void *at, size_t count)
{
    (void)count;
    if (*(const void *const *)at) json_put_bool(w, f->name, true);
}

static const shower SHOW[] = {
    [CONFIG_FLAG] = show_flag,         [CONFIG_NUMBER] = show_number,
    [CONFIG_REAL] = show_real,         [CONFIG_ENUM] = show_enum,
    [CONFIG_TEXT] = show_text,         [CONFIG_NAMES] = show_names,
    [CONFIG_TYPES] = show_types,       [CONFIG_FORMATS] = show_formats,
    [CONFIG_PROFILES] = show_profiles, [CONFIG_CALIBRATION] = show_pointer,
    [CONFIG_MONITOR] = show_pointer,   [CONFIG_HOOKS] = show_pointer,
    [CONFIG_OBJECT] = show_pointer,
};

pgy_status pgy_build_config_json(char **out, const pgy_build_config *config, pgy_error *err)
{
    pgy_build_config known;
    str text = {0};
    json_writer *w = NULL;
    pgy_status st = config_take(&known, config, err);
    if (!st) st = json_writer_create_str(&w, &text, err);
    if (st) return st;
    json_begin_object(w);
    for (size_t i = 0; i < config_field_count(); i++) {
        const config_field *f = config_field_at(i);
        const size_t *count = (const size_t *)((const char *)&known + f->count_offset);
        SHOW[f->kind](w, f, (const char *)&known + f->offset, *count);
    }
    json_end_object(w);
    st = json_writer_finish(w, err);
    json_writer_destroy(w);
    char *made = str_take(&text);
    if (!st && made) {
        *out = made;
        return PGY_OK;
    }
    mem_free(made);
    return st ? st : pgy_error_set(err, PGY_E_MEMORY, "out of memory for a configuration");
}

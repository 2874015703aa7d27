/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a backend by name. Their descriptions are those of the command line, so values get the
 * same checks. The field name follows from the spelling: "--onnxrt-threads" is the field
 * onnxrt_threads. */
#include "runner/options.h"

#include <string.h>

#include "base/alloc.h"
#include "base/option.h"
#include "base/str.h"
#include "runner/registry.h"

struct pgy_backend_options {
    const pgy_backend *given;
    pgy_backend backend; /* the backend as this version of the interface knows it */
    arena memory;        /* holds the texts and lists of `settings` */
    void *settings;      /* the backend's struct, options_size bytes */
    options_object *object;
};

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for options of a backend");
}

/* ---- Names ---------------------------------------------------------------------------------- */

static const char *without_dashes(const char *name)
{
    return name + strspn(name, "-");
}

static bool is_field(const char *spelling, size_t size, const char *name)
{
    size_t i = 0;
    for (; i < size && name[i]; i++)
        if ((spelling[i] == '-' ? '_' : spelling[i]) != (name[i] == '-' ? '_' : name[i]))
            return false;
    return i == size && !name[i];
}

static bool has_name(const pgy_option *row, const char *name)
{
    const char *at = row->names;
    while (*at) {
        const char *spelling = without_dashes(at);
        const size_t size = strcspn(spelling, " ");
        if (is_field(spelling, size, name)) return true;
        at = spelling + size;
        at += strspn(at, " ");
    }
    return false;
}

static bool is_settable(const pgy_option *row)
{
    return row->kind != PGY_OPTION_RUNNER && row->kind != PGY_OPTION_POSITIONAL;
}

/* Appends the field name of an option, made from its first spelling. */
static void append_field(str *out, const pgy_option *row)
{
    const char *spelling = without_dashes(row->names);
    for (size_t i = 0; spelling[i] && spelling[i] != ' '; i++)
        str_append_char(out, spelling[i] == '-' ? '_' : spelling[i]);
}

static pgy_status no_option(const pgy_backend *b, const char *name, pgy_error *err)
{
    str list = {0};
    for (const pgy_option *row = b->options; row && row->kind != PGY_OPTION_END; row++) {
        if (!is_settable(row) || row->hidden) continue;
        if (list.size) str_append(&list, ", ");
        append_field(&list, row);
    }
    const pgy_status st =
        list.size
            ? pgy_error_set(err, PGY_E_NOT_FOUND,
                            "backend %s has no option '%s'; its options are %s", b->name, name,
                            str_text(&list))
            : pgy_error_set(err, PGY_E_NOT_FOUND,
                            "backend %s has no option '%s': it takes no options", b->name, name);
    str_deinit(&list);
    return st;
}

static pgy_status find(const pgy_option **out, const pgy_backend *b, const char *name,
                       pgy_error *err)
{
    if (!name)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'name' must not be NULL: it names the option");
    const char *wanted = without_dashes(name);
    for (const pgy_option *row = b->options; row && row->kind != PGY_OPTION_END; row++) {
        if (!is_settable(row) || !has_name(row, wanted)) continue;
        *out = row;
        return PGY_OK;
    }
    return no_option(b, name, err);
}

/* Prefixes an error with backend and field: "onnxrt.onnxrt_threads: ..." */
static pgy_status prefix_field(pgy_error *err, pgy_status st, const pgy_backend *b,
                               const pgy_option *row)
{
    str field = {0};
    append_field(&field, row);
    st = pgy_error_prefix(err, st, "%s.%s: ", b->name, str_text(&field));
    str_deinit(&field);
    return st;
}

/* ---- Life ----------------------------------------------------------------------------------- */

pgy_status pgy_backend_options_create(pgy_backend_options **out, const pgy_backend *backend,
                                      pgy_error *err)
{
    if (!out || !backend)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out' and 'backend' must not be NULL");
    pgy_backend known;
    const pgy_status st = registry_take(&known, backend, err);
    if (st) return st;
    pgy_backend_options *o = mem_calloc(1, sizeof *o);
    if (o) o->settings = mem_calloc(1, known.options_size + 1);
    if (!o || !o->settings) {
        mem_free(o);
        return no_memory(err);
    }
    o->given = backend;
    o->backend = known;
    if (known.defaults) known.defaults(o->settings);
    *out = o;
    return PGY_OK;
}

static void release_object(options_object *object)
{
    if (object && atomic_fetch_sub(&object->references, 1) == 1) object->destroy(object);
}

void pgy_backend_options_destroy(pgy_backend_options *o)
{
    if (!o) return;
    release_object(o->object);
    arena_deinit(&o->memory);
    mem_free(o->settings);
    mem_free(o);
}

void *options_settings(pgy_backend_options *o)
{
    return o->backend.options_size ? o->settings : NULL;
}

const pgy_backend *options_backend(const pgy_backend_options *o)
{
    return o->given;
}

void options_adopt(pgy_backend_options *o, options_object *object)
{
    release_object(o->object);
    o->object = object;
}

/* Copies the words of a list. A NULL item ends each use of an option. */
static bool copy_words(pgy_text_list *list, arena *memory)
{
    if (!list->count) return true;
    const char **items = arena_alloc_array(memory, list->count + 1, sizeof *items);
    if (!items) return false;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] && !(items[i] = arena_strdup(memory, list->items[i]))) return false;
    list->items = items;
    return true;
}

static bool copy_member(const pgy_option *row, void *settings, arena *memory)
{
    void *at = (char *)settings + row->offset;
    if (row->kind == PGY_OPTION_LIST || row->kind == PGY_OPTION_APPEND)
        return copy_words(at, memory);
    if (row->kind != PGY_OPTION_TEXT || !*(const char **)at) return true;
    return (*(const char **)at = arena_strdup(memory, *(const char **)at)) != NULL;
}

pgy_status options_copy(pgy_backend_options **out, const pgy_backend_options *from, pgy_error *err)
{
    pgy_backend_options *o = NULL;
    pgy_status st = pgy_backend_options_create(&o, from->given, err);
    if (st) return st;
    memcpy(o->settings, from->settings, from->backend.options_size);
    if (from->object) {
        atomic_fetch_add(&from->object->references, 1);
        o->object = from->object;
    }
    const pgy_option *row = from->backend.options;
    bool ok = true;
    for (; ok && row && row->kind != PGY_OPTION_END; row++)
        ok = copy_member(row, o->settings, &o->memory);
    if (!ok) {
        pgy_backend_options_destroy(o);
        return no_memory(err);
    }
    *out = o;
    return PGY_OK;
}

/* ---- Setting -------------------------------------------------------------------------------- */

static pgy_status set_flag(void *at, const char *value, pgy_error *err)
{
    const bool on = !strcmp(value, "true");
    if (!on && strcmp(value, "false"))
        return pgy_error_set(err, PGY_E_ARGUMENT, "expected 'true' or 'false', not '%s'", value);
    *(bool *)at = on;
    return PGY_OK;
}

static pgy_status check_count(const pgy_option *row, size_t count, pgy_error *err)
{
    const bool is_list = row->kind == PGY_OPTION_LIST || row->kind == PGY_OPTION_APPEND;
    const bool is_one =
        !is_list || row->nargs == PGY_ONE || row->nargs == PGY_OPTIONAL || row->nargs == PGY_NONE;
    if (is_one && count != 1)
        return pgy_error_set(err, PGY_E_ARGUMENT, "expected one argument, not %zu", count);
    if (row->nargs == PGY_ONE_OR_MORE && !count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "expected at least one argument");
    return PGY_OK;
}

static pgy_status store(pgy_backend_options *o, const pgy_option *row, const char *const *values,
                        size_t count, pgy_error *err)
{
    const char **copies = arena_alloc_array(&o->memory, count + 1, sizeof *copies);
    if (!copies) return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        if (!values || !values[i])
            return pgy_error_set(err, PGY_E_ARGUMENT, "value %zu is NULL", i);
        if (!(copies[i] = arena_strdup(&o->memory, values[i]))) return no_memory(err);
    }
    pgy_status st = check_count(row, count, err);
    if (st) return st;
    if (row->kind == PGY_OPTION_FLAG)
        return set_flag((char *)o->settings + row->offset, copies[0], err);
    return option_store(row, o->settings, copies, count, &o->memory, err);
}

pgy_status pgy_backend_options_set_words(pgy_backend_options *o, const char *name,
                                         const char *const *values, size_t count, pgy_error *err)
{
    const pgy_option *row = NULL;
    pgy_status st = find(&row, &o->backend, name, err);
    if (st) return st;
    st = store(o, row, values, count, err);
    return st ? prefix_field(err, st, &o->backend, row) : PGY_OK;
}

pgy_status pgy_backend_options_set(pgy_backend_options *o, const char *name, const char *value,
                                   pgy_error *err)
{
    return pgy_backend_options_set_words(o, name, &value, 1, err);
}

/* ---- Getting -------------------------------------------------------------------------------- */

static void append_words(str *out, const pgy_text_list *list)
{
    size_t shown = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!list->items[i]) continue;
        if (shown++) str_append(out, " ");
        str_append(out, list->items[i]);
    }
}

static void append_value(str *out, const pgy_option *row, const void *at)
{
    switch (row->kind) {
    case PGY_OPTION_FLAG: str_append(out, *(const bool *)at ? "true" : "false"); break;
    case PGY_OPTION_COUNT: str_printf(out, "%d", *(const int *)at); break;
    case PGY_OPTION_INT: str_printf(out, "%lld", (long long)*(const int64_t *)at); break;
    case PGY_OPTION_TEXT:
        if (*(const char *const *)at) str_append(out, *(const char *const *)at);
        break;
    default: append_words(out, at); break;
    }
}

pgy_status pgy_backend_options_get(char **out, const pgy_backend_options *o, const char *name,
                                   pgy_error *err)
{
    const pgy_option *row = NULL;
    str text = {0};
    pgy_status st = find(&row, &o->backend, name, err);
    if (st) return st;
    append_value(&text, row, (const char *)o->settings + row->offset);
    char *taken = str_take(&text);
    if (!taken) return no_memory(err);
    *out = taken;
    return PGY_OK;
}

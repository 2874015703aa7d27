/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin configurations: read from YAML or from the JSON of the Python helper process, and written
 * as YAML in PyYAML's layout. Each configuration has its own arena. */
#include "gs/plugin/plugin.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/yaml.h"

void pgy_plugin_config_destroy(pgy_plugin_config *config)
{
    if (!config) return;
    plugin_config *box = config->internal;
    arena_deinit(&box->memory);
    mem_free(box);
}

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The first failure is kept, and later reads do nothing, so callers check only once. */
typedef struct reader {
    const char *where;
    arena *memory;
    pgy_status st;
    pgy_error *err;
} reader;

static void bad(reader *r, const json_value *at, const char *what)
{
    if (!r->st)
        r->st = pgy_error_set(r->err, PGY_E_FORMAT, "%s: line %u: %s", r->where, at ? at->line : 1,
                              what);
}

static void *allocate(reader *r, size_t count, size_t item_bytes)
{
    void *p = r->st ? NULL : arena_alloc_array(r->memory, count ? count : 1, item_bytes);
    if (!p && !r->st) r->st = no_memory(r->err);
    return p;
}

static const char *text(reader *r, const json_value *v, const char *what)
{
    size_t size = 0;
    if (r->st || !v || v->type != JSON_STRING) {
        bad(r, v, what);
        return "";
    }
    const char *s = json_string(v, r->memory, &size);
    if (!s) r->st = no_memory(r->err);
    if (s && strlen(s) != size) bad(r, v, "expected a string without zero bytes");
    return s ? s : "";
}

/* A tensor name may look like a number, so YAML gives a number; its text is the name. */
static const char *tensor_name(reader *r, const json_value *v)
{
    if (!r->st && v && v->type == JSON_INT && v->raw.size) {
        const char *s = arena_strndup(r->memory, v->raw.data, v->raw.size);
        if (!s) r->st = no_memory(r->err);
        return s ? s : "";
    }
    return text(r, v, "expected the name of a tensor");
}

static const char *const *names(size_t *count, reader *r, const json_value *instance,
                                const char *key)
{
    const json_value *v = json_get(instance, key);
    *count = 0;
    if (!v || v->type != JSON_ARRAY) {
        bad(r, v ? v : instance, "expected an instance with lists 'inputs' and 'outputs'");
        return NULL;
    }
    const char **items = allocate(r, v->count, sizeof *items);
    for (const json_value *i = v->first; i && items && !r->st; i = i->next)
        items[(*count)++] = tensor_name(r, i);
    return items;
}

static void read_value(pgy_plugin_value *out, reader *r, const json_value *v, bool in_list);

static void read_list(pgy_plugin_value *out, reader *r, const json_value *v)
{
    pgy_plugin_value *items = allocate(r, v->count, sizeof *items);
    out->kind = PGY_PLUGIN_LIST;
    out->items = items;
    bool real = false, mixed = false;
    for (const json_value *i = v->first; i && items && !r->st; i = i->next) {
        pgy_plugin_value *item = &items[out->count++];
        read_value(item, r, i, true);
        real |= item->kind == PGY_PLUGIN_REAL;
        mixed |= item->kind != items[0].kind &&
                 (item->kind == PGY_PLUGIN_TEXT || items[0].kind == PGY_PLUGIN_TEXT);
    }
    if (mixed) bad(r, v, "expected a list of strings only or of numbers only");
    for (size_t i = 0; real && i < out->count; i++) {
        if (items[i].kind != PGY_PLUGIN_REAL) items[i].real = (double)items[i].integer;
        items[i].kind = PGY_PLUGIN_REAL;
    }
}

static void read_value(pgy_plugin_value *out, reader *r, const json_value *v, bool in_list)
{
    switch (v->type) {
    case JSON_BOOL:
        out->kind = PGY_PLUGIN_BOOL;
        out->integer = v->boolean;
        break;
    case JSON_INT:
        out->kind = PGY_PLUGIN_INT;
        out->integer = v->integer;
        break;
    case JSON_REAL:
        out->kind = PGY_PLUGIN_REAL;
        out->real = v->real;
        break;
    case JSON_STRING:
        out->kind = PGY_PLUGIN_TEXT;
        out->text = text(r, v, "expected a string");
        break;
    case JSON_ARRAY:
        if (!in_list) {
            read_list(out, r, v);
            break;
        }
        bad(r, v, "expected a list without nested lists");
        break;
    default: bad(r, v, "expected a number, a string, true, false, or a list of these");
    }
}

static void read_attributes(pgy_plugin_instance *out, reader *r, const json_value *instance)
{
    const json_value *v = json_get(instance, "attributes");
    if (!v || v->type == JSON_NULL) return;
    if (v->type != JSON_OBJECT) {
        bad(r, v, "expected a mapping for 'attributes'");
        return;
    }
    pgy_plugin_value *items = allocate(r, v->count, sizeof *items);
    for (const json_value *i = v->first; i && items && !r->st; i = i->next) {
        pgy_plugin_value *item = &items[out->attribute_count++];
        item->name = arena_strndup(r->memory, i->key.data, i->key.size);
        if (!item->name) r->st = no_memory(r->err);
        if (!r->st && (!i->key.size || strlen(item->name) != i->key.size))
            bad(r, i, "the name of an attribute is empty or has a zero byte");
        read_value(item, r, i, false);
    }
    out->attributes = items;
}

static void read_places(pgy_plugin_places *out, reader *r, const json_value *v)
{
    const json_value *list = json_get(v, "instances");
    out->name = text(r, json_get(v, "name"), "expected a plugin with 'name', 'op' and 'instances'");
    out->op = text(r, json_get(v, "op"), "expected a plugin with 'name', 'op' and 'instances'");
    out->domain = json_get(v, "domain")
                      ? text(r, json_get(v, "domain"), "expected a string for 'domain'")
                      : "";
    if (!r->st && (!*out->name || strchr(out->name, '/') || !*out->op))
        bad(r, v,
            "'name' must be the folder of the plugin, without '/', and 'op' must not be empty");
    if (!list || list->type != JSON_ARRAY) {
        bad(r, v, "expected a plugin with a list 'instances'");
        return;
    }
    pgy_plugin_instance *items = allocate(r, list->count, sizeof *items);
    for (const json_value *i = list->first; i && items && !r->st; i = i->next) {
        pgy_plugin_instance *item = &items[out->count++];
        item->inputs = names(&item->input_count, r, i, "inputs");
        item->outputs = names(&item->output_count, r, i, "outputs");
        read_attributes(item, r, i);
        if (!r->st && !item->output_count)
            bad(r, i, "expected an instance with at least one output");
    }
    out->instances = items;
}

pgy_status plugin_config_read(pgy_plugin_config **out, const json_value *list, const char *where,
                              pgy_error *err)
{
    plugin_config *box = mem_calloc(1, sizeof *box);
    if (!box) return no_memory(err);
    box->config.internal = box;
    reader r = {.where = where, .memory = &box->memory, .err = err};
    pgy_plugin_places *items = allocate(&r, list->count, sizeof *items);
    for (const json_value *i = list->first; i && items && !r.st; i = i->next) {
        if (i->type == JSON_NULL) continue;
        read_places(&items[box->config.count++], &r, i);
    }
    box->config.plugins = items;
    if (r.st)
        pgy_plugin_config_destroy(&box->config);
    else
        *out = &box->config;
    return r.st;
}

pgy_status pgy_plugin_config_parse(pgy_plugin_config **out, const char *name, const void *data,
                                   size_t size_bytes, pgy_error *err)
{
    arena memory = {0};
    json_value *documents;
    pgy_status st = yaml_parse(&documents, data, size_bytes, &memory, err);
    st = st ? pgy_error_prefix(err, st, "%s: ", name)
            : plugin_config_read(out, documents, name, err);
    arena_deinit(&memory);
    return st;
}

pgy_status pgy_plugin_config_load(pgy_plugin_config **out, const char *path, pgy_error *err)
{
    str data = {0};
    pgy_status st = file_read(&data, path, err);
    if (!st) st = pgy_plugin_config_parse(out, path, str_text(&data), data.size, err);
    str_deinit(&data);
    return st;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void write_scalar(str *out, const pgy_plugin_value *v)
{
    switch (v->kind) {
    case PGY_PLUGIN_BOOL: str_append(out, v->integer ? "true" : "false"); break;
    case PGY_PLUGIN_INT: str_printf(out, "%lld", (long long)v->integer); break;
    case PGY_PLUGIN_REAL: yaml_append_real(out, v->real); break;
    default: yaml_append_text(out, v->text);
    }
}

static void write_attribute(str *out, const pgy_plugin_value *v)
{
    str_append(out, "    ");
    yaml_append_text(out, v->name);
    str_append(out, ":");
    if (v->kind != PGY_PLUGIN_LIST || !v->count) str_append_char(out, ' ');
    if (v->kind != PGY_PLUGIN_LIST) {
        write_scalar(out, v);
    } else if (!v->count) {
        str_append(out, "[]");
    }
    for (size_t i = 0; v->kind == PGY_PLUGIN_LIST && i < v->count; i++) {
        str_append(out, "\n    - ");
        write_scalar(out, &v->items[i]);
    }
    str_append_char(out, '\n');
}

static void write_names(str *out, const char *head, const char *const *items, size_t count)
{
    str_printf(out, "%s:%s\n", head, count ? "" : " []");
    for (size_t i = 0; i < count; i++) {
        str_append(out, "  - ");
        yaml_append_text(out, items[i]);
        str_append_char(out, '\n');
    }
}

static void write_places(str *out, const pgy_plugin_places *p)
{
    str_append(out, "name: ");
    yaml_append_text(out, p->name);
    str_append(out, "\nop: ");
    yaml_append_text(out, p->op);
    if (*p->domain) {
        str_append(out, "\ndomain: ");
        yaml_append_text(out, p->domain);
    }
    str_append(out, "\ninstances:\n");
    for (size_t i = 0; i < p->count; i++) {
        const pgy_plugin_instance *v = &p->instances[i];
        write_names(out, "- inputs", v->inputs, v->input_count);
        write_names(out, "  outputs", v->outputs, v->output_count);
        str_printf(out, "  attributes:%s\n", v->attribute_count ? "" : " {}");
        for (size_t k = 0; k < v->attribute_count; k++) write_attribute(out, &v->attributes[k]);
    }
}

pgy_status pgy_plugin_config_save(const pgy_plugin_config *config, const char *path, pgy_error *err)
{
    str out = {0};
    for (size_t i = 0; i < config->count; i++) {
        if (!config->plugins[i].count) continue;
        if (out.size) str_append(&out, "---\n");
        write_places(&out, &config->plugins[i]);
    }
    const pgy_status st =
        out.failed ? no_memory(err) : file_write_all(path, str_text(&out), out.size, err);
    str_deinit(&out);
    return st;
}

/* ---- For the helper process ------------------------------------------------------------------ */

static void write_json_names(json_writer *w, const char *key, const char *const *items,
                             size_t count)
{
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) json_text(w, items[i]);
    json_end_array(w);
}

static void write_json_value(json_writer *w, const pgy_plugin_value *v)
{
    switch (v->kind) {
    case PGY_PLUGIN_BOOL: json_bool(w, v->integer != 0); break;
    case PGY_PLUGIN_INT: json_int(w, v->integer); break;
    case PGY_PLUGIN_REAL: json_real(w, v->real); break;
    case PGY_PLUGIN_TEXT: json_text(w, v->text); break;
    case PGY_PLUGIN_LIST:
        json_begin_array(w);
        for (size_t i = 0; i < v->count; i++) write_json_value(w, &v->items[i]);
        json_end_array(w);
    }
}

pgy_status plugin_instances_json(str *out, const pgy_plugin_places *p, pgy_error *err)
{
    json_writer *w = NULL;
    pgy_status st = json_writer_create_str(&w, out, err);
    if (st) return st;
    json_begin_array(w);
    for (size_t i = 0; i < p->count; i++) {
        const pgy_plugin_instance *v = &p->instances[i];
        json_begin_object(w);
        write_json_names(w, "inputs", v->inputs, v->input_count);
        write_json_names(w, "outputs", v->outputs, v->output_count);
        json_key(w, "attributes");
        json_begin_object(w);
        for (size_t k = 0; k < v->attribute_count; k++) {
            json_key(w, v->attributes[k].name);
            write_json_value(w, &v->attributes[k]);
        }
        json_end_object(w);
        json_end_object(w);
    }
    json_end_array(w);
    st = json_writer_finish(w, err);
    json_writer_destroy(w);
    return st;
}

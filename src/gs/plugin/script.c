/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the plugins' pattern.py scripts in a Python helper process. They get the model as a file and
 * return their matches as JSON. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "data/python.h"
#include "gs/plugin/plugin.h"

static const char LOG_PATH[] = "tools/plugin/subtool/plugin_base.py";

static const char HOOK[] = "replace_with_plugin";

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* "<dir>/<name>/pattern.py", owned; NULL: out of memory. */
static char *script_path(const char *dir, const char *name)
{
    char *folder = path_join(dir, name);
    char *path = folder ? path_join(folder, "pattern.py") : NULL;
    mem_free(folder);
    return path;
}

/* ---- The folder ------------------------------------------------------------------------------ */

void pgy_plugin_names_free(pgy_plugin_names *names)
{
    for (size_t i = 0; i < names->count; i++) mem_free(names->items[i]);
    mem_free(names->items);
    *names = (pgy_plugin_names){0};
}

pgy_status pgy_plugin_list(pgy_plugin_names *out, const char *dir, pgy_error *err)
{
    strvec all = {0};
    pgy_plugin_names names = {0};
    if (!file_is_dir(dir))
        return pgy_error_set(err, PGY_E_NOT_FOUND, "plugin folder '%s' does not exist", dir);
    pgy_status st = file_list_dir(&all, dir, "", err);
    if (!st) names.items = mem_calloc(all.count + 1, sizeof *names.items);
    if (!st && !names.items) st = no_memory(err);
    for (size_t i = 0; !st && i < all.count; i++) {
        char *path = script_path(dir, all.items[i]);
        if (!path)
            st = no_memory(err);
        else if (file_exists(path) && !(names.items[names.count] = mem_strdup(all.items[i])))
            st = no_memory(err);
        if (!st && names.items[names.count]) names.count++;
        mem_free(path);
    }
    strvec_deinit(&all);
    if (st)
        pgy_plugin_names_free(&names);
    else
        *out = names;
    return st;
}

/* ---- The model as a file --------------------------------------------------------------------- */

typedef struct model_file {
    const char *path;
    char *temporary;
} model_file;

static void model_file_release(model_file *f)
{
    if (f->temporary) {
        str data = {0};
        str_printf(&data, "%s.data", f->temporary); /* weights, if the model exceeds one file */
        if (!data.failed) unlink(str_text(&data));
        str_deinit(&data);
    }
    file_temp_release(f->temporary);
}

static pgy_status model_file_make(model_file *out, pgy_model *model, const char *path,
                                  pgy_error *err)
{
    *out = (model_file){.path = path};
    if (path) return PGY_OK;
    pgy_model_save_options o = pgy_model_save_options_default();
    o.embed = true;
    pgy_status st = file_temp_path(&out->temporary, ".onnx", err);
    if (!st) st = pgy_model_save(model, out->temporary, &o, err);
    out->path = out->temporary;
    return st;
}

/* ---- Finding --------------------------------------------------------------------------------- */

static pgy_status start(python_script **out, const char *dir, const char *name, pgy_error *err)
{
    char *path = script_path(dir, name);
    const pgy_status st =
        path ? python_script_start(out, path, "get_matching_subgraphs", "plugin", err)
             : no_memory(err);
    mem_free(path);
    return st;
}

/* Runs one plugin's script on the model and appends its matches, a JSON object. */
static pgy_status ask_places(str *out, const char *dir, const char *name, const char *model,
                             pgy_error *err)
{
    python_script *s = NULL;
    char kind = 0, *text = NULL;
    LOG(INFO, "checking %s in model", name);
    pgy_status st = start(&s, dir, name, err);
    if (!st) st = python_ask(s, 'g', err);
    if (!st) st = python_put_text(s, model, err);
    if (!st) st = python_answer(&kind, s, err);
    if (!st) st = python_take_text(&text, NULL, s, err);
    if (!st) str_append(out, text);
    if (st) pgy_error_prefix(err, st, "plugin '%s': ", name);
    mem_free(text);
    python_script_stop(s);
    return st;
}

pgy_status pgy_plugin_match(pgy_plugin_config **out, const char *dir, const pgy_plugin_names *names,
                            pgy_model *model, const char *path, pgy_error *err)
{
    model_file file;
    arena memory = {0};
    str text = {0};
    json_value *found = NULL;
    pgy_status st = model_file_make(&file, model, path, err);
    str_append_char(&text, '[');
    for (size_t i = 0; !st && i < names->count; i++) {
        if (i) str_append_char(&text, ',');
        st = ask_places(&text, dir, names->items[i], file.path, err);
    }
    str_append_char(&text, ']');
    if (!st && text.failed) st = no_memory(err);
    if (!st) st = json_parse(&found, str_text(&text), text.size, &memory, err);
    if (!st) st = plugin_config_read(out, found, "what the plugins found", err);
    arena_deinit(&memory);
    str_deinit(&text);
    model_file_release(&file);
    return st;
}

/* ---- Replacing ------------------------------------------------------------------------------- */

bool pgy_plugin_has_hook(const char *dir, const char *name)
{
    char *path = script_path(dir, name);
    str text = {0};
    const bool found =
        path && file_exists(path) && !file_read(&text, path, NULL) && strstr(str_text(&text), HOOK);
    str_deinit(&text);
    mem_free(path);
    return found;
}

static pgy_status ask_replace(bool *done, uint32_t *count, python_script *s, const char *from,
                              const char *to, const pgy_plugin_places *p, pgy_error *err)
{
    str instances = {0};
    char kind = 0;
    pgy_status st = plugin_instances_json(&instances, p, err);
    if (!st) st = python_ask(s, 'h', err);
    if (!st) st = python_put_text(s, from, err);
    if (!st) st = python_put_text(s, to, err);
    if (!st) st = python_put_text(s, p->op, err);
    if (!st) st = python_put_text(s, str_text(&instances), err);
    if (!st) st = python_answer(&kind, s, err);
    *done = kind == 'H';
    if (!st && *done) st = python_take_u32(count, s, err);
    str_deinit(&instances);
    return st;
}

pgy_status pgy_plugin_call_hook(pgy_model **out, size_t *replaced, const char *dir,
                                const pgy_plugin_places *plugin, pgy_model *model, pgy_error *err)
{
    model_file from = {0}, to = {0};
    python_script *s = NULL;
    bool done = false;
    uint32_t count = 0;
    pgy_status st = model_file_make(&from, model, NULL, err);
    if (!st) st = file_temp_path(&to.temporary, ".onnx", err);
    if (!st) st = start(&s, dir, plugin->name, err);
    if (!st) st = ask_replace(&done, &count, s, from.path, to.temporary, plugin, err);
    *out = NULL;
    if (!st && done) st = pgy_model_load(out, to.temporary, NULL, err);
    if (!st) *replaced = count;
    if (st) pgy_error_prefix(err, st, "plugin '%s': ", plugin->name);
    python_script_stop(s);
    model_file_release(&to);
    model_file_release(&from);
    return st;
}

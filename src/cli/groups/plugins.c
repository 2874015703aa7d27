/* SPDX-License-Identifier: Apache-2.0 */
/* What the subtools of `plugin` share: the folder, the choice of plugins, finding and replacing. */
#include "cli/groups/plugins.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/pytext.h"
#include "cli/groups/model.h"

static const char LOG_PATH[] = "tools/plugin/subtool/plugin_base.py";

#define DIR_ROW                                                                      \
    PGY_OPT_TEXT("--plugin-dir", plugins_args, dir, .required = true, .meta = "DIR", \
                 .help = "folder of plugins: folders that hold a script pattern.py")

static const pgy_option OPTIONS[] = {
    DIR_ROW,
    PGY_OPT_LIST("--include", plugins_args, include, .nargs = PGY_ONE_OR_MORE, .meta = "NAME",
                 .exclusive = "plugins", .help = "plugins to try; all if not given"),
    PGY_OPT_LIST("--exclude", plugins_args, exclude, .nargs = PGY_ONE_OR_MORE, .meta = "NAME",
                 .exclusive = "plugins", .help = "plugins not to try"),
    PGY_OPT_END,
};
static const pgy_option DIR_OPTIONS[] = {DIR_ROW, PGY_OPT_END};

#define PLUGINS_GROUP(table)                                                               \
    {                                                                                      \
        .title = "Plugins", .description = "Options related to plugins", .options = table, \
        ARGS_TYPE(plugins_args)                                                            \
    }
const option_group GROUP_PLUGINS = PLUGINS_GROUP(OPTIONS);
const option_group GROUP_PLUGINS_DIR = PLUGINS_GROUP(DIR_OPTIONS);

const plugins_args *plugins_settings(const args *line)
{
    return ARGS_OF(line, plugins_args);
}

/* ---- Which ---- */

static bool contains(const pgy_text_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i], name)) return true;
    return false;
}

static pgy_status check_names(const pgy_text_list *list, const pgy_plugin_names *all,
                              const char *option, const char *dir, pgy_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        bool found = false;
        for (size_t k = 0; k < all->count; k++) found |= !strcmp(list->items[i], all->items[k]);
        if (found) continue;
        str names = {0};
        str_append_py_list(&names, (const char *const *)all->items, all->count);
        pgy_status st = pgy_error_set(err, PGY_E_NOT_FOUND, "%s: '%s' has no plugin '%s', only %s",
                                      option, dir, list->items[i], str_text(&names));
        str_deinit(&names);
        return st;
    }
    return PGY_OK;
}

pgy_status plugins_choose(pgy_plugin_names *out, const plugins_args *s, pgy_error *err)
{
    pgy_plugin_names all = {0};
    pgy_status st = pgy_plugin_list(&all, s->dir, err);
    if (!st) st = check_names(&s->include, &all, "--include", s->dir, err);
    if (!st) st = check_names(&s->exclude, &all, "--exclude", s->dir, err);
    if (st) {
        pgy_plugin_names_free(&all);
        return st;
    }
    size_t kept = 0;
    for (size_t i = 0; i < all.count; i++) {
        const bool wanted = s->include.given ? contains(&s->include, all.items[i])
                                             : !contains(&s->exclude, all.items[i]);
        if (wanted)
            all.items[kept++] = all.items[i];
        else
            mem_free(all.items[i]);
    }
    all.count = kept;
    if (!kept) LOG(WARNING, "'%s' has no plugin to try", s->dir);
    *out = all;
    return PGY_OK;
}

/* ---- Finding ---- */

pgy_status plugins_match(pgy_plugin_config **out, const plugins_args *s, pgy_model *model,
                         const char *path, pgy_error *err)
{
    pgy_plugin_names names = {0};
    str text = {0};
    pgy_status st = plugins_choose(&names, s, err);
    if (!st) st = pgy_plugin_match(out, s->dir, &names, model, path, err);
    for (size_t i = 0; !st && i < names.count; i++) {
        str_append(&text, i ? ", " : "");
        str_append_py_repr(&text, names.items[i]);
        str_printf(&text, ": %zu", (*out)->plugins[i].count);
    }
    if (!st) {
        LOG(INFO, "the following plugins matched:");
        LOG(INFO, "{%s}", str_text(&text));
    }
    str_deinit(&text);
    pgy_plugin_names_free(&names);
    return st;
}

/* ---- The model ---- */

pgy_status plugins_load(pgy_model **out, const char **path, args *line, pgy_error *err)
{
    pgy_loader *loader = NULL;
    pgy_status st = model_loader(&loader, line, err);
    if (!st) st = pgy_loader_call(out, loader, err);
    *path = model_is_edited(line) ? NULL : model_path(line);
    pgy_loader_destroy(loader);
    return st;
}

char *plugins_beside(const char *model, const char *name)
{
    char *absolute = path_absolute(model);
    char *dir = absolute ? path_dirname(absolute) : NULL;
    char *path = dir ? path_join(dir, name) : NULL;
    mem_free(dir);
    mem_free(absolute);
    return path;
}

/* ---- Replacing ---- */

static pgy_status call_hook(pgy_gs_graph **graph, bool *called, size_t *replaced,
                            const plugins_args *s, const pgy_plugin_places *plugin, pgy_error *err)
{
    pgy_model *before = NULL, *after = NULL;
    pgy_gs_graph *changed = NULL;
    *called = false;
    if (!pgy_plugin_has_hook(s->dir, plugin->name)) return PGY_OK;
    pgy_status st = pgy_gs_export(&before, *graph, NULL, err);
    if (!st) st = pgy_plugin_call_hook(&after, replaced, s->dir, plugin, before, err);
    if (!st && after) st = pgy_gs_import(&changed, after, err);
    if (!st && after) {
        pgy_gs_destroy(*graph);
        *graph = changed;
        *called = true;
    }
    pgy_model_destroy(after);
    pgy_model_destroy(before);
    return st;
}

pgy_status plugins_apply(pgy_gs_graph **graph, size_t *replaced, const plugins_args *s,
                         const pgy_plugin_places *plugin, pgy_error *err)
{
    size_t count = 0;
    bool called, done;
    pgy_status st = call_hook(graph, &called, &count, s, plugin, err);
    for (size_t i = 0; !st && !called && i < plugin->count; i++) {
        st = pgy_plugin_replace(&done, *graph, plugin, i, err);
        count += !st && done;
    }
    if (!st) st = pgy_gs_cleanup(*graph, NULL, err);
    if (!st) st = pgy_gs_toposort(*graph, NULL, err);
    if (!st) *replaced = count;
    return st;
}

pgy_status plugins_replace(pgy_gs_graph **graph, const plugins_args *s,
                           const pgy_plugin_places *plugin, pgy_error *err)
{
    size_t replaced;
    const pgy_status st = plugins_apply(graph, &replaced, s, plugin, err);
    if (st) return st;
    LOG(INFO, "replaced %zu instances of %s plugin", replaced, plugin->name);
    if (replaced < plugin->count)
        LOG(WARNING, "not all instances of %s were replaced (%zu of %zu)", plugin->name, replaced,
            plugin->count);
    return PGY_OK;
}

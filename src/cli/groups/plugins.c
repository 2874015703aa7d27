/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the subtools of `plugin`: the folder, the choice of plugins, finding and replacing. */
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
                 .help = "folder of plugins; each subfolder with a script pattern.py is a plugin")

static const pgy_option OPTIONS[] = {
    DIR_ROW,
    PGY_OPT_LIST("--include", plugins_args, include, .nargs = PGY_ONE_OR_MORE, .meta = "NAME",
                 .exclusive = "plugins", .help = "plugins to try; default: all"),
    PGY_OPT_LIST("--exclude", plugins_args, exclude, .nargs = PGY_ONE_OR_MORE, .meta = "NAME",
                 .exclusive = "plugins", .help = "plugins to leave out"),
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

pgy_status plugins_choose(pgy_plugin_names *out, const plugins_args *s, pgy_error *err)
{
    const pgy_plugin_selection selection = {.size = sizeof selection,
                                            .dir = s->dir,
                                            .include = s->include.items,
                                            .include_count = s->include.count,
                                            .exclude = s->exclude.items,
                                            .exclude_count = s->exclude.count};
    const pgy_status st = pgy_plugin_choose(out, &selection, err);
    /* The library's error names its field "include" or "exclude": make it the option. */
    if (st == PGY_E_NOT_FOUND && err && strstr(err->text, "clude: ") == err->text + strlen("in"))
        return pgy_error_prefix(err, st, "--");
    return st;
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

pgy_status plugins_replace(pgy_gs_graph **graph, const plugins_args *s,
                           const pgy_plugin_places *plugin, pgy_error *err)
{
    size_t replaced;
    const pgy_status st = pgy_plugin_apply(graph, &replaced, s->dir, plugin, err);
    if (st) return st;
    LOG(INFO, "replaced %zu instances of %s plugin", replaced, plugin->name);
    if (replaced < plugin->count)
        LOG(WARNING, "not all instances of %s were replaced (%zu of %zu)", plugin->name, replaced,
            plugin->count);
    return PGY_OK;
}

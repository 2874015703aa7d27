/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the requested plugins among those of a folder, and replaces all matches of a plugin's
 * pattern. */
#include <polygraphy/plugin.h>

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/pytext.h"
#include "base/sized.h"

static const char LOG_PATH[] = "gs/plugin/apply.c";

/* ---- Choosing ------------------------------------------------------------------------------- */

static bool contains(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

static pgy_status check_names(const char *const *names, size_t count, const pgy_plugin_names *all,
                              const char *field, const char *dir, pgy_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (contains((const char *const *)all->items, all->count, names[i])) continue;
        str known = {0};
        str_append_py_list(&known, (const char *const *)all->items, all->count);
        pgy_status st =
            pgy_error_set(err, PGY_E_NOT_FOUND, "%s: folder '%s' has no plugin '%s', only %s",
                          field, dir, names[i], str_text(&known));
        str_deinit(&known);
        return st;
    }
    return PGY_OK;
}

pgy_status pgy_plugin_choose(pgy_plugin_names *out, const pgy_plugin_selection *selection,
                             pgy_error *err)
{
    pgy_plugin_selection o = {0}, *s = &o;
    pgy_plugin_names all = {0};
    pgy_status st = SIZED_TAKE(pgy_plugin_selection, s, selection, err);
    if (!st) st = pgy_plugin_list(&all, s->dir, err);
    if (!st) st = check_names(s->include, s->include_count, &all, "include", s->dir, err);
    if (!st) st = check_names(s->exclude, s->exclude_count, &all, "exclude", s->dir, err);
    if (st) {
        pgy_plugin_names_free(&all);
        return st;
    }
    size_t kept = 0;
    for (size_t i = 0; i < all.count; i++) {
        const bool wanted = s->include_count
                                ? contains(s->include, s->include_count, all.items[i])
                                : !contains(s->exclude, s->exclude_count, all.items[i]);
        if (wanted)
            all.items[kept++] = all.items[i];
        else
            mem_free(all.items[i]);
    }
    all.count = kept;
    if (!kept) LOG(WARNING, "Folder '%s' has no plugin to try", s->dir);
    *out = all;
    return PGY_OK;
}

/* ---- Replacing ------------------------------------------------------------------------------ */

static pgy_status call_hook(pgy_gs_graph **graph, bool *called, size_t *replaced, const char *dir,
                            const pgy_plugin_places *plugin, pgy_error *err)
{
    pgy_model *before = NULL, *after = NULL;
    pgy_gs_graph *changed = NULL;
    *called = false;
    if (!pgy_plugin_has_hook(dir, plugin->name)) return PGY_OK;
    pgy_status st = pgy_gs_export(&before, *graph, NULL, err);
    if (!st) st = pgy_plugin_call_hook(&after, replaced, dir, plugin, before, err);
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

pgy_status pgy_plugin_apply(pgy_gs_graph **graph, size_t *replaced, const char *dir,
                            const pgy_plugin_places *plugin, pgy_error *err)
{
    size_t count = 0;
    bool called, done;
    pgy_status st = call_hook(graph, &called, &count, dir, plugin, err);
    for (size_t i = 0; !st && !called && i < plugin->count; i++) {
        st = pgy_plugin_replace(&done, *graph, plugin, i, err);
        count += !st && done;
    }
    if (!st) st = pgy_gs_cleanup(*graph, NULL, err);
    if (!st) st = pgy_gs_toposort(*graph, NULL, err);
    if (!st) *replaced = count;
    return st;
}

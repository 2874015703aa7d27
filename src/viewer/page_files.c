/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a page is made from: their content decides what they are. */
#include "viewer/page_files.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "viewer/sources/source.h"

enum { START_BYTES = 64 << 10, JSON_LIMIT = 64 << 20 };

/* ---- Kinds of files ------------------------------------------------------------------------- */

/* Finds the source that takes a file with these bytes; NULL: none. */
static const view_source *source_for(const char *path, span whole, arena *scratch)
{
    const span start = {whole.data, whole.size < START_BYTES ? whole.size : START_BYTES};
    json_value *json = NULL;
    size_t blank = 0;
    while (blank < start.size && memchr(" \t\r\n", start.data[blank], 4)) blank++;
    const bool may_be_json =
        blank < start.size && (start.data[blank] == '{' || start.data[blank] == '[');
    if (may_be_json && whole.size <= JSON_LIMIT &&
        json_parse(&json, whole.data, whole.size, scratch, NULL))
        json = NULL;
    for (size_t i = 0; VIEW_SOURCES[i]; i++)
        if (VIEW_SOURCES[i]->accept(path, start, json)) return VIEW_SOURCES[i];
    return NULL;
}

static pgy_status unknown_kind(const char *path, pgy_error *err)
{
    str kinds = {0};
    for (size_t i = 0; VIEW_SOURCES[i]; i++)
        str_printf(&kinds, "%s%s", i ? ", " : "", VIEW_SOURCES[i]->label);
    pgy_error_set(err, PGY_E_FORMAT, "'%s' is none of the files that a page can show: %s", path,
                  str_text(&kinds));
    str_deinit(&kinds);
    return PGY_E_FORMAT;
}

static pgy_status find_source(const view_source **out, const char *path, pgy_error *err)
{
    file_map map = {0};
    arena scratch = {0};
    pgy_status st = PGY_OK;
    if (file_is_dir(path)) { /* that of a run: its files are read as one */
        for (size_t i = 0; VIEW_SOURCES[i]; i++)
            if (!strcmp(VIEW_SOURCES[i]->name, "outputs")) *out = VIEW_SOURCES[i];
        return PGY_OK;
    }
    st = file_map_open(&map, path, err);
    if (st) return st;
    *out = map.size_bytes ? source_for(path, (span){map.data, map.size_bytes}, &scratch) : NULL;
    if (!map.size_bytes)
        st = pgy_error_set(err, PGY_E_FORMAT, "'%s' is empty", path);
    else if (!*out)
        st = unknown_kind(path, err);
    file_map_close(&map);
    arena_deinit(&scratch);
    return st;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static bool makes_graph(const view_source *source)
{
    return !strcmp(source->name, "model") || !strcmp(source->name, "plan");
}

pgy_status page_file_is_result(bool *out, const char *path, pgy_error *err)
{
    const view_source *source = NULL;
    pgy_error why = {0};
    const pgy_status st = find_source(&source, path, &why);
    *out = !st && !makes_graph(source);
    if (!st || st == PGY_E_FORMAT) return PGY_OK;
    return pgy_error_set(err, st, "%s", why.text);
}

uint32_t page_file_graph(const pgy_page *p, const view_file *f)
{
    const size_t owner = f->owner;
    if (owner == VIEW_OF_A) return 0; /* without a model, its reader tells what is missing */
    if (owner == VIEW_OF_B) return p->graph_count > 1 && !p->plan_name ? 1 : VIEW_NONE;
    const size_t profile = owner - VIEW_OF_PROFILE;
    if (p->graph_count && p->plan_of[0] && profile == p->options.profile) return 0;
    for (uint32_t i = 0; p->plan_name && i < p->graph_count; i++)
        if (p->graphs[i]->profile == profile) return i;
    return VIEW_NONE;
}

static pgy_status read_file(pgy_page *p, size_t at, pgy_error *err)
{
    const view_file f = p->files[at];
    const uint32_t graph = makes_graph(f.source) ? 0 : page_file_graph(p, &f);
    if (graph >= VIEW_GRAPH_LIMIT) return PGY_OK;
    p->files[at].is_read = true;
    p->reading_file = at;
    p->reading = graph;
    if (!p->own[p->reading] && p->reading &&
        !(p->own[p->reading] = mem_calloc(1, sizeof(view_results))))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while a page is made");
    const pgy_status st = f.source->add(p, f.path, err);
    /* Errors of models and plans have the path. */
    return st && !makes_graph(f.source) ? pgy_error_prefix(err, st, "%s: ", f.path) : st;
}

pgy_status page_files_read(pgy_page *p, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < p->file_count && !st; i++)
        if (!p->files[i].is_read) st = read_file(p, i, err);
    return st;
}

pgy_status page_files_check(const pgy_page *p, pgy_error *err)
{
    for (size_t i = 0; i < p->file_count; i++) {
        const view_file *f = &p->files[i];
        if (f->is_read) continue;
        if (f->owner == VIEW_OF_B)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "'%s' has results of a second model; give that model, too",
                                 f->path);
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%s' has results of profile %zu; the page shows no such profile",
                             f->path, f->owner - VIEW_OF_PROFILE);
    }
    return PGY_OK;
}

pgy_status page_file_add(pgy_page *p, const char *path, const char *name, size_t owner,
                         pgy_error *err)
{
    const view_source *source = NULL;
    pgy_status st = find_source(&source, path, err);
    if (st) return st;
    const char *copy = arena_strdup(&p->memory, path);
    const char *label = name ? arena_strdup(&p->memory, name) : copy ? path_basename(copy) : NULL;
    if (!copy || !label ||
        !mem_grow((void **)&p->files, &p->file_capacity, p->file_count + 1, sizeof *p->files))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while a page is made");
    view_file *f = &p->files[p->file_count++];
    *f = (view_file){.path = copy,
                     .label = label,
                     .source = source,
                     .owner = owner,
                     .has_own_name = name != NULL};
    if (makes_graph(source) && owner != VIEW_OF_A)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%s' is a model or a plan; expected a file of results", path);
    if (makes_graph(source)) st = read_file(p, p->file_count - 1, err);
    if (!st && p->graph_count) st = page_files_read(p, err);
    return st;
}

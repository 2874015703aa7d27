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
    if (file_is_dir(path))
        return pgy_error_set(err, PGY_E_ARGUMENT, "'%s' is a folder; give a file", path);
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

static bool makes_graph(const view_file *f)
{
    return !strcmp(f->source->name, "model") || !strcmp(f->source->name, "plan");
}

static pgy_status read_file(pgy_page *p, size_t at, pgy_error *err)
{
    const view_file f = p->files[at];
    p->files[at].is_read = true;
    const pgy_status st = f.source->add(p, f.path, err);
    /* Errors of models and plans have the path. */
    return st && !makes_graph(&f) ? pgy_error_prefix(err, st, "%s: ", f.path) : st;
}

pgy_status page_files_read(pgy_page *p, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < p->file_count && !st; i++)
        if (!p->files[i].is_read) st = read_file(p, i, err);
    return st;
}

pgy_status page_file_add(pgy_page *p, const char *path, const char *name, pgy_error *err)
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
    *f = (view_file){.path = copy, .label = label, .source = source, .has_own_name = name != NULL};
    if (makes_graph(f)) st = read_file(p, p->file_count - 1, err);
    if (!st && p->graph_count) st = page_files_read(p, err);
    return st;
}

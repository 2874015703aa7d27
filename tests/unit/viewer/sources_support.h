/* SPDX-License-Identifier: Apache-2.0 */
/* A page with the graph of a model, and what tests of sources ask it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "viewer/sources/source.h"

#define DATA TEST_SOURCE_DIR "/tests/data/viewer/"

static view_graph *support_graph(const char *path)
{
    view_graph *g = NULL;
    pgy_model *model = NULL;
    strvec warnings = {0};
    assert_int_equal(pgy_model_load(&model, path, NULL, NULL), PGY_OK);
    assert_int_equal(view_graph_from_model(&g, model, path_basename(path), &warnings, NULL),
                     PGY_OK);
    pgy_model_destroy(model);
    strvec_deinit(&warnings);
    return g;
}

static void support_page(pgy_page *p, const char *model)
{
    memset(p, 0, sizeof *p);
    p->graphs[p->graph_count++] = support_graph(model);
}

static void support_close(pgy_page *p)
{
    for (uint32_t i = 0; i < p->graph_count; i++) view_graph_destroy(p->graphs[i]);
    view_results_deinit(&p->results);
    strvec_deinit(&p->warnings);
    mem_free(p->files);
    arena_deinit(&p->memory);
}

static const view_source *support_source(const char *name)
{
    for (size_t i = 0; VIEW_SOURCES[i]; i++)
        if (strcmp(VIEW_SOURCES[i]->name, name) == 0) return VIEW_SOURCES[i];
    fail_msg("no source '%s'", name);
    return NULL;
}

/* Adds a file as pgy_page_add does: the first source that accepts it reads it. */
static pgy_status support_add(pgy_page *p, const char *kind, const char *path, pgy_error *err)
{
    file_map map;
    arena memory = {0};
    json_value *json = NULL;
    const view_source *found = NULL;
    assert_int_equal(file_map_open(&map, path, NULL), PGY_OK);
    if (json_parse(&json, map.data, map.size_bytes, &memory, NULL)) json = NULL;
    const span start = {map.data, map.size_bytes < 4096 ? map.size_bytes : 4096};
    for (size_t i = 0; !found && VIEW_SOURCES[i]; i++)
        if (VIEW_SOURCES[i]->accept(path, start, json)) found = VIEW_SOURCES[i];
    assert_non_null(found);
    assert_string_equal(found->name, kind);
    arena_deinit(&memory);
    file_map_close(&map);
    assert_true(
        mem_grow((void **)&p->files, &p->file_capacity, p->file_count + 1, sizeof *p->files));
    const char *copy = arena_strdup(&p->memory, path);
    assert_non_null(copy);
    p->reading_file = p->file_count;
    p->files[p->file_count++] = (view_file){.path = copy, .label = copy, .source = found};
    return found->add(p, copy, err);
}

/* Adds a file with this text. */
static __attribute__((unused)) pgy_status support_add_text(pgy_page *p, const char *kind,
                                                           const char *text, pgy_error *err)
{
    char *path = NULL;
    assert_int_equal(file_temp_path(&path, ".json", NULL), PGY_OK);
    assert_int_equal(file_write_all(path, text, strlen(text), NULL), PGY_OK);
    const pgy_status st = support_add(p, kind, path, err);
    file_temp_release(path);
    return st;
}

static void support_add_good(pgy_page *p, const char *kind, const char *path)
{
    pgy_error err = {0};
    if (support_add(p, kind, path, &err)) fail_msg("%s: %s", path, err.text);
}

static uint32_t tensor_at(const pgy_page *p, const char *name)
{
    const uint32_t at = view_graph_tensor(p->graphs[0], name);
    assert_int_not_equal(at, VIEW_NONE);
    return at;
}

static uint32_t node_at(const pgy_page *p, const char *name)
{
    const uint32_t at = view_graph_node(p->graphs[0], name);
    assert_int_not_equal(at, VIEW_NONE);
    return at;
}

static bool is_measured(const pgy_page *p, const char *id, uint32_t at)
{
    const view_quantity *q = view_quantity_find(&p->results, id, 0);
    return q && at < q->count && q->is_measured[at];
}

static double value_at(const pgy_page *p, const char *id, uint32_t at)
{
    assert_true(is_measured(p, id, at));
    return view_quantity_find(&p->results, id, 0)->values[at];
}

/* The name of the category of a node or tensor. */
static const char *category_at(const pgy_page *p, const char *id, uint32_t at)
{
    const view_quantity *q = view_quantity_find(&p->results, id, 0);
    const double v = value_at(p, id, at);
    assert_true(v >= 0 && v < q->name_count);
    return q->names[(size_t)v];
}

static size_t mark_count(const pgy_page *p, view_mark_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < p->results.mark_count; i++) count += p->results.marks[i].kind == kind;
    return count;
}

/* The text of a mark; NULL: there is none. */
static const char *mark_at(const pgy_page *p, view_mark_kind kind, view_of of, uint32_t at)
{
    for (size_t i = 0; i < p->results.mark_count; i++) {
        const view_mark *m = &p->results.marks[i];
        if (m->kind == kind && m->of == of && m->at == at) return m->text;
    }
    return NULL;
}

static const view_table *table_of(const pgy_page *p, const char *id)
{
    const view_table *t = view_table_find(&p->results, id);
    if (!t) fail_msg("no table '%s'", id);
    return t;
}

static const view_cell *cell_at(const view_table *t, size_t row, uint32_t column)
{
    assert_true(row < t->row_count && column < t->column_count);
    return &t->cells[row * t->column_count + column];
}

/* The text of a row of the summary; NULL: there is none. */
static const char *summary_of(const pgy_page *p, const char *section, const char *name)
{
    for (size_t i = 0; i < p->results.summary_count; i++)
        if (strcmp(p->results.summary[i].section, section) == 0 &&
            strcmp(p->results.summary[i].name, name) == 0)
            return p->results.summary[i].text;
    return NULL;
}

/* Not every test needs every function. */
static inline void support_use_all(void)
{
    (void)support_page, (void)support_close, (void)support_source, (void)support_add_good,
        (void)tensor_at, (void)node_at;
    (void)value_at, (void)category_at, (void)mark_count, (void)mark_at, (void)table_of,
        (void)cell_at, (void)summary_of;
}

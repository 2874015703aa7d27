/* SPDX-License-Identifier: Apache-2.0 */
/* The block "head" of a page (docs/formats/page.md). */
#include "viewer/page_head.h"

#include <string.h>

#include "viewer/sources/source.h"

enum { FORMAT_VERSION = 1 };

const char *page_title(const pgy_page *p)
{
    if (p->options.title) return p->options.title;
    if (p->plan_name) return p->plan_name;
    if (p->graph_count) return p->graphs[0]->name;
    return p->file_count ? p->files[0].label : "";
}

static void put_sources(json_writer *w, const pgy_page *p)
{
    json_key(w, "sources");
    json_begin_array(w);
    for (size_t i = 0; i < p->file_count; i++) {
        json_begin_object(w);
        json_put_text(w, "kind", p->files[i].source->name);
        json_put_text(w, "path", p->files[i].has_own_name ? "" : p->files[i].path);
        json_put_text(w, "label", p->files[i].label);
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_graphs(json_writer *w, const pgy_page *p)
{
    json_key(w, "graphs");
    json_begin_array(w);
    for (uint32_t i = 0; i < p->graph_count; i++) {
        json_begin_object(w);
        json_put_text(w, "name", p->graphs[i]->name);
        json_put_text(w, "kind", p->graphs[i]->kind);
        json_put_uint(w, "nodes", p->graphs[i]->node_count);
        json_put_text(w, "role", p->graphs[i]->role);
        if (p->plan_name) json_put_uint(w, "profile", p->graphs[i]->profile);
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_verdict(json_writer *w, const view_results *r)
{
    json_key(w, "verdict");
    if (!r->is_judged) {
        json_null(w);
        return;
    }
    json_begin_object(w);
    json_put_bool(w, "passed", r->passed);
    json_put_text(w, "text", r->verdict ? r->verdict : "");
    json_end_object(w);
}

/* ---- The summary ---------------------------------------------------------------------------- */

static bool is_first_of_section(const view_results *r, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (!strcmp(r->summary[i].section, r->summary[at].section)) return false;
    return true;
}

static void put_section(json_writer *w, const view_results *r, const char *section)
{
    json_begin_object(w);
    json_put_text(w, "title", section);
    json_key(w, "rows");
    json_begin_array(w);
    for (size_t i = 0; i < r->summary_count; i++) {
        if (strcmp(r->summary[i].section, section) != 0) continue;
        json_begin_array(w);
        json_text(w, r->summary[i].name);
        json_text(w, r->summary[i].text);
        json_end_array(w);
    }
    json_end_array(w);
    json_end_object(w);
}

static void put_summary(json_writer *w, const view_results *r)
{
    json_key(w, "summary");
    json_begin_array(w);
    for (size_t i = 0; i < r->summary_count; i++)
        if (is_first_of_section(r, i)) put_section(w, r, r->summary[i].section);
    json_end_array(w);
}

/* ---- All of it ------------------------------------------------------------------------------ */

static void put_lists(json_writer *w, const pgy_page *p)
{
    json_key(w, "warnings");
    json_begin_array(w);
    for (size_t i = 0; i < p->warnings.count; i++) json_text(w, p->warnings.items[i]);
    json_end_array(w);
    json_key(w, "tables");
    json_begin_array(w);
    for (size_t i = 0; i < p->results.table_count; i++) {
        const view_table *t = p->results.tables[i];
        json_begin_object(w);
        json_put_text(w, "id", t->id);
        json_put_text(w, "title", t->title);
        json_put_uint(w, "graph", t->graph);
        json_put_uint(w, "rows", t->row_count);
        json_end_object(w);
    }
    json_end_array(w);
    json_key(w, "blocks");
    json_begin_array(w);
    for (size_t i = 0; i < p->block_count; i++) json_text(w, p->blocks[i].name);
    json_end_array(w);
}

void page_head_write(json_writer *w, const pgy_page *p, bool served)
{
    json_begin_object(w);
    json_put_int(w, "version", FORMAT_VERSION);
    json_put_text(w, "title", page_title(p));
    json_put_text(w, "generator", PGY_PACKAGE " " PGY_VERSION);
    json_put_text(w, "command", p->options.command ? p->options.command : "");
    json_put_bool(w, "served", served);
    put_sources(w, p);
    put_graphs(w, p);
    put_verdict(w, &p->results);
    put_summary(w, &p->results);
    put_lists(w, p);
    json_end_object(w);
}

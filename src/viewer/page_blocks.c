/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of a page's data: their list, and each as JSON (docs/formats/page.md). */
#include "viewer/page_blocks.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "viewer/page_head.h"

enum { STATS_CHUNK = 256 };

/* ---- The list ------------------------------------------------------------------------------- */

static pgy_status add(pgy_page *p, const char *name, page_block block, pgy_error *err)
{
    block.name = name;
    if (!name ||
        !mem_grow((void **)&p->blocks, &p->block_capacity, p->block_count + 1, sizeof *p->blocks))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while a page is made");
    p->blocks[p->block_count++] = block;
    return PGY_OK;
}

static pgy_status add_graph(pgy_page *p, uint32_t i, pgy_error *err)
{
    arena *a = &p->memory;
    const size_t chunks = view_detail_count(p->graphs[i]);
    pgy_status st =
        add(p, arena_printf(a, "graph-%u", i), (page_block){NULL, PAGE_GRAPH, i, 0}, err);
    for (size_t k = 0; k < chunks && !st; k++)
        st = add(p, arena_printf(a, "detail-%u-%zu", i, k), (page_block){NULL, PAGE_DETAIL, i, k},
                 err);
    return st;
}

/* Statistics are sorted by tensor, so the tensors of a chunk lie together. */
static pgy_status add_stats(pgy_page *p, pgy_error *err)
{
    pgy_status st = PGY_OK;
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < p->results.stats_count && !st; i++) {
        const size_t k = p->results.stats[i]->tensor / STATS_CHUNK;
        if (k == last) continue;
        last = k;
        st = add(p, arena_printf(&p->memory, "stats-%zu", k), (page_block){NULL, PAGE_STATS, 0, k},
                 err);
    }
    return st;
}

static pgy_status add_tables(pgy_page *p, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < p->results.table_count && !st; i++) {
        const view_table *t = p->results.tables[i];
        st = add(p, arena_printf(&p->memory, "table-%s", t->id),
                 (page_block){NULL, PAGE_TABLE, t->graph, i}, err);
    }
    return st;
}

pgy_status page_blocks_make(pgy_page *p, pgy_error *err)
{
    pgy_status st = add(p, "head", (page_block){.kind = PAGE_HEAD}, err);
    for (uint32_t i = 0; i < p->graph_count && !st; i++) st = add_graph(p, i, err);
    if (!st) st = add(p, "results", (page_block){.kind = PAGE_RESULTS}, err);
    if (!st) st = add_stats(p, err);
    if (!st && p->results.timeline.source)
        st = add(p, "timeline", (page_block){.kind = PAGE_TIMELINE}, err);
    if (!st && p->results.step_count) st = add(p, "search", (page_block){.kind = PAGE_SEARCH}, err);
    return st ? st : add_tables(p, err);
}

const page_block *page_block_find(const pgy_page *p, span name)
{
    for (size_t i = 0; i < p->block_count; i++)
        if (span_equals(name, p->blocks[i].name)) return &p->blocks[i];
    return NULL;
}

bool page_block_is_piece(const page_block *b)
{
    return b->kind == PAGE_STATS;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static void write_block(json_writer *w, const pgy_page *p, const page_block *b, bool served)
{
    switch (b->kind) {
    case PAGE_HEAD: page_head_write(w, p, served); break;
    case PAGE_GRAPH: view_graph_write(w, p->graphs[b->graph]); break;
    case PAGE_DETAIL: view_detail_write(w, p->graphs[b->graph], b->at); break;
    case PAGE_RESULTS: view_results_write(w, &p->results); break;
    case PAGE_STATS: view_stats_write(w, &p->results, b->at); break;
    case PAGE_TIMELINE: view_timeline_write(w, &p->results); break;
    case PAGE_SEARCH: view_search_write(w, &p->results); break;
    case PAGE_TABLE: view_table_write(w, p->results.tables[b->at]); break;
    }
}

pgy_status page_block_write(str *out, const pgy_page *p, const page_block *b, bool served,
                            pgy_error *err)
{
    json_writer *w = NULL;
    pgy_status st = json_writer_create_str(&w, out, err);
    if (st) return st;
    json_for_html(w);
    write_block(w, p, b, served);
    st = json_writer_finish(w, err);
    json_writer_destroy(w);
    return cancel_check_after(st, err);
}

pgy_status page_blocks_write(str *out, const pgy_page *p, pgy_error *err)
{
    json_writer *w = NULL;
    pgy_status st = json_writer_create_str(&w, out, err);
    if (st) return st;
    json_for_html(w);
    json_begin_object(w);
    for (size_t i = 0; i < p->block_count && !cancel_requested(); i++) {
        json_key(w, p->blocks[i].name);
        write_block(w, p, &p->blocks[i], false);
    }
    json_end_object(w);
    st = json_writer_finish(w, err);
    json_writer_destroy(w);
    return cancel_check_after(st, err);
}

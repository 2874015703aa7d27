/* SPDX-License-Identifier: Apache-2.0 */
/* A view: graphs, results, and where both came from. */
#ifndef VIEWER_PAGE_H
#define VIEWER_PAGE_H

#include <polygraphy/page.h>

#include "viewer/graph.h"
#include "viewer/results.h"

enum { VIEW_GRAPH_LIMIT = 3 }; /* A, B, and both merged */

typedef struct view_source view_source; /* sources/source.h */

typedef struct view_file {
    const char *path, *label;
    const view_source *source;
    bool has_own_name; /* the label stands for the path, too */
    bool is_read;      /* false: waits until there is a graph */
} view_file;

typedef enum page_block_kind {
    PAGE_HEAD,
    PAGE_GRAPH,
    PAGE_DETAIL,
    PAGE_RESULTS,
    PAGE_STATS,
    PAGE_TIMELINE,
    PAGE_SEARCH,
    PAGE_TABLE
} page_block_kind;

/* A block of the page's data (docs/formats/page.md). */
typedef struct page_block {
    const char *name; /* "detail-0-1" */
    page_block_kind kind;
    uint32_t graph;
    size_t at; /* number of the chunk or table */
} page_block;

struct pgy_page {
    arena memory;
    pgy_page_options options;
    view_graph *graphs[VIEW_GRAPH_LIMIT];
    uint32_t graph_count;
    pgy_plan *plans[VIEW_GRAPH_LIMIT]; /* that graphs belong to and the page opened */
    size_t plan_count;
    view_results results;
    strvec warnings;
    view_file *files;
    size_t file_count, file_capacity;
    page_block *blocks; /* made by page_complete */
    size_t block_count, block_capacity;
    bool is_complete; /* groups and layouts are made */
};

/* Does what needs all sources: the merged graph, groups, layouts. Called by all writers. */
pgy_status page_complete(pgy_page *p, pgy_error *err) PGY_MUST_CHECK;

#endif

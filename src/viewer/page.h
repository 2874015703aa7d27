/* SPDX-License-Identifier: Apache-2.0 */
/* A view: graphs, results, and where both came from. */
#ifndef VIEWER_PAGE_H
#define VIEWER_PAGE_H

#include <polygraphy/page.h>

#include "viewer/graph.h"
#include "viewer/results.h"

/* A, B, and both merged; or the programs of a plan's profiles. */
enum { VIEW_GRAPH_LIMIT = 64, VIEW_COMPARED = 2, VIEW_MERGED = 2 };

/* Whom the results of a file belong to; VIEW_OF_PROFILE + n: profile n of A. */
enum { VIEW_OF_A, VIEW_OF_B, VIEW_OF_PROFILE };

typedef struct view_source view_source; /* sources/source.h */

typedef struct view_file {
    const char *path, *label;
    const view_source *source;
    size_t owner;      /* VIEW_OF_A ... */
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
    pgy_plan *plans[VIEW_COMPARED]; /* that graphs belong to and the page opened */
    size_t plan_count;
    const pgy_plan *plan_of[VIEW_COMPARED]; /* of A and B; NULL: it is a model */
    const char *plan_name; /* of A, if several of its profiles are shown; else NULL */
    view_results results;  /* of A, then of all graphs */
    view_results
        *own[VIEW_GRAPH_LIMIT]; /* of other graphs until the page is completed; NULL: none */
    uint32_t *merged_tensor[VIEW_COMPARED]; /* of each tensor of A and B; NULL: one model */
    uint32_t reading;                       /* the graph that the file being read belongs to */
    size_t reading_file;                    /* that file */
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

/* SPDX-License-Identifier: Apache-2.0 */
/* A view: graphs, results, and where both came from. */
#ifndef VIEWER_VIEW_H
#define VIEWER_VIEW_H

#include <polygraphy/view.h>

#include "viewer/graph.h"
#include "viewer/results.h"

enum { VIEW_GRAPH_LIMIT = 3 }; /* A, B, and both merged */

typedef struct view_source view_source; /* sources/source.h */

typedef struct view_file {
    const char *path, *label;
    const view_source *source;
} view_file;

struct pgy_view {
    arena memory;
    pgy_view_options options;
    view_graph *graphs[VIEW_GRAPH_LIMIT];
    uint32_t graph_count;
    view_results results;
    strvec warnings;
    view_file *files;
    size_t file_count, file_capacity;
    bool is_complete; /* groups and layouts are made */
};

/* Does what needs all sources: the merged graph, groups, layouts. Called by all writers. */
pgy_status view_complete(pgy_view *v, pgy_error *err) PGY_MUST_CHECK;

#endif

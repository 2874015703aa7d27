/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a model's main graph in the order of the file, for results that count nodes. */
#ifndef VIEWER_SOURCES_MAIN_NODES_H
#define VIEWER_SOURCES_MAIN_NODES_H

#include "viewer/sources/result_file.h"

typedef struct main_nodes {
    uint32_t *items; /* nodes of the view's graph */
    size_t count;
} main_nodes;

pgy_status main_nodes_list(main_nodes *out, const view_graph *g, pgy_error *err) PGY_MUST_CHECK;
void main_nodes_deinit(main_nodes *n);

#endif

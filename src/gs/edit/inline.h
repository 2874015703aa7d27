/* SPDX-License-Identifier: Apache-2.0 */
/* Copies function bodies in place of calls (inline_copy.c), for inline.c. */
#ifndef GS_EDIT_INLINE_H
#define GS_EDIT_INLINE_H

#include "gs/graph/document.h"

typedef struct inliner {
    gs_document *document;
    gs_node_list made;     /* all copied nodes, including those in subgraphs */
    gs_node_list expanded; /* inlined calls, which are still attached */
    gs_level_list levels;  /* copied subgraphs, which may hold calls */
    bool paths;            /* names become paths: "<call>/<name>" */
} inliner;

/* Appends a copy of f's body to `out`, for the call n in level `into`. The nodes are attached to
 * n's tensors and are in no list yet. An unnamed call uses `number` in the new names. */
pgy_status inliner_copy_body(gs_node_list *out, inliner *x, const pgy_gs_node *n,
                             const pgy_gs_graph *f, pgy_gs_graph *into, size_t number,
                             pgy_error *err) PGY_MUST_CHECK;

/* Like pgy_gs_inline_call, but `name` in the body becomes "<call>/<name>", and an unnamed node is
 * named after its first output. Nodes in subgraphs of the body keep their names. */
pgy_status gs_inline_call_by_path(pgy_gs_node *n, pgy_error *err) PGY_MUST_CHECK;
/* The name of a node or, if it has none, of its first named output; "" if both are missing. */
const char *gs_node_path_name(const pgy_gs_node *n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of function bodies in place of calls (inline_copy.c), for inline.c. */
#ifndef GS_EDIT_INLINE_H
#define GS_EDIT_INLINE_H

#include "gs/graph/document.h"

typedef struct inliner {
    gs_document *document;
    gs_node_list made;     /* all nodes that were copied, those in subgraphs too */
    gs_node_list expanded; /* calls that were replaced; they are still attached */
    gs_level_list levels;  /* subgraphs that were copied and may hold calls */
    bool paths;            /* what is made gets names that are paths: "<call>/<name>" */
} inliner;

/* Appends to `out` what function f does when n calls it: nodes for the level that n is in (`into`),
 * attached to n's tensors, in no list yet. `number` names what n, without name, leaves behind. */
pgy_status inliner_copy_body(gs_node_list *out, inliner *x, const pgy_gs_node *n,
                             const pgy_gs_graph *f, pgy_gs_graph *into, size_t number,
                             pgy_error *err) PGY_MUST_CHECK;

/* Like pgy_gs_inline_call, but what was `name` in the body is "<call>/<name>" now; a node without
 * name is called as its first output. Nodes in subgraphs of the body keep their names. */
pgy_status gs_inline_call_by_path(pgy_gs_node *n, pgy_error *err) PGY_MUST_CHECK;
/* The name of a node or, if it has none, that of its first output; "" if there is neither. */
const char *gs_node_path_name(const pgy_gs_node *n);

#endif

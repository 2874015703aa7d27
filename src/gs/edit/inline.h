/* SPDX-License-Identifier: Apache-2.0 */
/* Interface of inline_copy.c, which copies a function's body in place of a call, for inline.c.
 */
#ifndef GS_EDIT_INLINE_H
#define GS_EDIT_INLINE_H

#include "gs/graph/document.h"

typedef struct inliner {
    gs_document *document;
    gs_node_list made;     /* all nodes copied so far, including those in subgraphs */
    gs_node_list expanded; /* calls whose bodies were copied; still attached to their tensors */
    gs_level_list levels;  /* copied subgraphs; the calls in them must be inlined, too */
    bool paths;            /* new names are "<call>/<name>" instead of "<name>_<call>" */
} inliner;

/* Appends a copy of f's body to `out`, for the call n in the graph `into`. The copied nodes read
 * and write n's tensors, but are not yet in the node list of `into`. For an unnamed call, new names
 * contain `number`. */
pgy_status inliner_copy_body(gs_node_list *out, inliner *x, const pgy_gs_node *n,
                             const pgy_gs_graph *f, pgy_gs_graph *into, size_t number,
                             pgy_error *err) PGY_MUST_CHECK;

/* Like pgy_gs_inline_call, but the name "x" in the function's body becomes "<call>/x", and an
 * unnamed node of the body is named after its first output. Nodes in subgraphs of the body keep
 * their names. */
pgy_status gs_inline_call_by_path(pgy_gs_node *n, pgy_error *err) PGY_MUST_CHECK;
/* The name of a node or, if it has none, of its first named output; "" if both are missing. */
const char *gs_node_path_name(const pgy_gs_node *n);

#endif

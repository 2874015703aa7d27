/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a document by identity, for passes that look up what every node calls. */
#ifndef GS_GRAPH_FUNCTION_INDEX_H
#define GS_GRAPH_FUNCTION_INDEX_H

#include "gs/graph/gs.h"

typedef struct gs_function_index {
    const gs_document *document;
    size_t *sorted; /* places in document.functions, by name, domain, overload, place */
    size_t count;
} gs_function_index;

pgy_status gs_function_index_init(gs_function_index *x, const gs_document *d,
                                  pgy_error *err) PGY_MUST_CHECK;
void gs_function_index_deinit(gs_function_index *x);
/* Place of the function that a node calls; SIZE_MAX: none. If several have the same identity, the
 * first. */
size_t gs_function_index_find(const gs_function_index *x, const pgy_gs_node *n);
/* True if sorted function i has the identity of function i - 1; i > 0. */
bool gs_function_index_repeats(const gs_function_index *x, size_t i);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* An index of local functions by name, domain and overload, for passes that look up the function of
 * every node. */
#ifndef GS_GRAPH_FUNCTION_INDEX_H
#define GS_GRAPH_FUNCTION_INDEX_H

#include "gs/graph/gs.h"

typedef struct gs_function_index {
    const gs_document *document;
    size_t *sorted; /* indices in document.functions, sorted by name, domain, overload and index */
    size_t count;
} gs_function_index;

pgy_status gs_function_index_init(gs_function_index *x, const gs_document *d,
                                  pgy_error *err) PGY_MUST_CHECK;
void gs_function_index_deinit(gs_function_index *x);
/* Index in document.functions of the function that n calls; SIZE_MAX: none. Of functions with the
 * same name, domain and overload, the first. */
size_t gs_function_index_find(const gs_function_index *x, const pgy_gs_node *n);
/* True if functions sorted[i] and sorted[i - 1] have the same name, domain and overload; i > 0. */
bool gs_function_index_repeats(const gs_function_index *x, size_t i);

#endif

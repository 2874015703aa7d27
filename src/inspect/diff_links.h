/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes a comparison matched, and which nodes its differences belong to: for pictures of two
 * models. The nodes are those of the two models, of all graphs and functions. */
#ifndef INSPECT_DIFF_LINKS_H
#define INSPECT_DIFF_LINKS_H

#include <polygraphy/diff.h>

typedef struct diff_link {
    const pgy_onnx_node *a, *b; /* NULL: only the other model has one */
    size_t entry;               /* place in pgy_diff_at(); of pairs: unused */
} diff_link;

/* All matched nodes, graph by graph, in the order of model a. */
const diff_link *diff_pairs(const pgy_diff *d, size_t *count);
/* The nodes of each difference, sorted by entry. A weight belongs to the nodes that read it, a
 * tensor to the one that produces it, an interface or a model's field to none. */
const diff_link *diff_links(const pgy_diff *d, size_t *count);

#endif

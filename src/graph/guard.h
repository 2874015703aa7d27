/* SPDX-License-Identifier: Apache-2.0 */
/* Guards against division by 0, in 16-bit floats: x / max(norm, 1e-12). In float16, 1e-12 is 0 and
 * 1/1e-6 is infinite, so 0/0 and 0 * Inf become NaN. Such a division stays in float32, with all
 * nodes from the guard to the division. Only its result is rounded to 16 bits, and a finite result
 * stays finite.
 *
 * Raising the guard to the smallest number of the type would avoid the NaN, too, but would change
 * results where the divisor is not 0: with a variance of 1e-6, x / sqrt(variance + 1e-12) would be
 * an eighth of what it should be in float16, and log(max(p, 1e-12)) would end at -9.7, not -27.6.
 */
#ifndef GRAPH_GUARD_H
#define GRAPH_GUARD_H

#include "graph/graph.h"
#include "graph/side_table.h"

SIDE_TABLE(guard_bits, uint8_t)

/* The guarded divisions of a graph. Zeroed: none were found. */
typedef struct graph_guards {
    /* indexed by node id: bits GUARD_KEEPS and GUARD_MADE_LARGE of guard_walk.h */
    guard_bits nodes;
    id_marks numbers; /* the constants that guard a division, by value id */
} graph_guards;

void graph_guards_deinit(graph_guards *found);
/* Adds the nodes of g, and of all levels inside it, that must stay in float32 because of a guarded
 * division, and logs each such division. Types must have been inferred and nodes been prepared. */
pgy_status graph_guard_mark(graph_guards *found, pgy_graph *g, pgy_dtype half,
                            pgy_error *err) PGY_MUST_CHECK;
/* Must n stay in float32 because of a guarded division? */
bool graph_guard_keeps(const graph_guards *found, const pgy_node *n, pgy_dtype half);
/* Is v the result of a guarded division that may exceed the range of `half`? */
bool graph_guard_made(const graph_guards *found, const pgy_value *v, pgy_dtype half);
/* Is v a constant that guards a division? */
static inline bool graph_guard_is_number(const graph_guards *found, pgy_value *v)
{
    return id_marks_get(&found->numbers, value_id(v));
}

#endif

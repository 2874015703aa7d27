/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that keep a divisor from 0, in 16-bit floats: x / max(norm, 1e-12). In float16, 1e-12 is
 * 0 and 1/1e-6 is infinite, so 0/0 and 0 * Inf become NaN. Such a division stays in float32, with
 * all between the number and it; only its result is rounded, and a finite one stays finite.
 *
 * The other way, to raise the number to the smallest that the type holds, keeps zeros from becoming
 * NaN too, but changes what is not 0: with a variance of 1e-6, x / sqrt(variance + 1e-12) would be
 * an eighth of what it should be in float16, and log(max(p, 1e-12)) would end at -9.7, not -27.6.
 */
#ifndef GRAPH_GUARD_H
#define GRAPH_GUARD_H

#include "graph/graph.h"

/* Finds, in g and all inside it, what must not be computed in float16 or bfloat16 for that reason,
 * and tells of each division. Types must have been inferred and nodes been prepared. */
pgy_status graph_guard_mark(pgy_graph *g, pgy_dtype half, pgy_error *err) PGY_MUST_CHECK;
/* Was n found? */
bool graph_guard_keeps(const pgy_node *n, pgy_dtype half);
/* Is v the result of such a division, which may be beyond the range of the type? */
bool graph_guard_made(const pgy_value *v, pgy_dtype half);

#endif

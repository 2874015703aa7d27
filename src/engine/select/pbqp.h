/* SPDX-License-Identifier: Apache-2.0 */
/* Partitioned boolean quadratic problem: each node takes one of its states. A state has a cost, and
 * so has each pair of states of two nodes that an edge joins. */
#ifndef ENGINE_SELECT_PBQP_H
#define ENGINE_SELECT_PBQP_H

#include <polygraphy/base.h>

#include "base/arena.h"

/* Cost of an impossible state or pair. */
#define PBQP_NEVER (__builtin_inf())

typedef struct pbqp pbqp;

/* An empty problem; the arena holds it and everything added to it. NULL: out of memory. */
pbqp *pbqp_create(arena *memory);
/* A node with `count` states, at least one. Nodes are numbered from 0. False: out of memory. */
bool pbqp_add_node(pbqp *p, uint32_t *index, size_t count, const double *costs);
/* Adds an edge. costs[i * (states of b) + k] is the cost of state i of `a` with state k of `b`. Two
 * nodes may have several edges. False: out of memory. */
bool pbqp_add_edge(pbqp *p, uint32_t a, uint32_t b, const double *costs);
size_t pbqp_node_count(const pbqp *p);
double pbqp_cost(const pbqp *p, const uint32_t *states);
/* Finds cheap states. Nodes with up to two neighbours are decided exactly, so the result is optimal
 * for chains, trees and nested branches. The remaining nodes are enumerated if they have few
 * combinations, else decided one by one. `states` holds a first guess; the result never costs more.
 * False: out of memory. */
bool pbqp_solve(const pbqp *p, uint32_t *states);

#endif

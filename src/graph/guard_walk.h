/* SPDX-License-Identifier: Apache-2.0 */
/* The search from a divisor back to the constants that it is computed from. */
#ifndef GRAPH_GUARD_WALK_H
#define GRAPH_GUARD_WALK_H

#include "graph/guard.h"

/* How the divisor depends on the value v that the search has reached: it is |v - pole| ^ power. */
typedef struct guard_place {
    double power, pole;
    bool mixed; /* v is combined with other numbers; one that is large enough keeps the divisor from
                   0 */
    bool inverts; /* true if the result of the division is large where the divisor is small */
} guard_place;

typedef struct guard_walk {
    graph_guards *found;
    pgy_dtype half;
    int budget;       /* nodes that may still be visited */
    const char *name; /* name of the constant that was found */
    double number;
    const pgy_value *measured; /* the divisor is the norm of this value; NULL: not known */
    pgy_status status;
    pgy_error *err;
} guard_walk;

/* Bits of graph_guards.nodes for float16. The bits for bfloat16 are twice as large (2 and 8).
 */
enum { GUARD_KEEPS = 1, GUARD_MADE_LARGE = 4 };

void guard_set(guard_walk *w, const pgy_node *n, unsigned bit);
/* Keeps n in float32. If n is a Where, the nodes that compute its condition stay, too. */
void guard_keep(guard_walk *w, const pgy_node *n);
/* Does the constant c keep the divisor from 0 in float32, but not after rounding to 16 bits? */
bool guard_is_too_small(const guard_walk *w, double c, guard_place p);
/* Stores the guard's name and number for the log message; always returns true. */
bool guard_found(guard_walk *w, const char *name, double number);
bool guard_is_constant(const pgy_value *v);
/* Reads the element of v; false: v is no constant of one element. */
bool guard_scalar(guard_walk *w, double *out, pgy_value *v);
/* Does n only move its elements, without changing them? */
bool guard_moves(const pgy_node *n);
/* Is v computed from a constant that is too small in 16 bits? Then all nodes from the constant to v
 * stay in float32, and so does the sum of squares to which the guard is added, because it would
 * overflow or underflow in 16 bits. */
bool guard_back(guard_walk *w, pgy_value *v, guard_place p);

#endif

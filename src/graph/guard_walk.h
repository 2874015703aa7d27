/* SPDX-License-Identifier: Apache-2.0 */
/* The walk from a divisor back to the constants that it is made of. */
#ifndef GRAPH_GUARD_WALK_H
#define GRAPH_GUARD_WALK_H

#include "graph/guard.h"

/* Where the walk is: the divisor is |v - pole| ^ power. */
typedef struct guard_place {
    double power, pole;
    bool mixed;   /* with other numbers, so that one that is large enough does */
    bool inverts; /* is the result large where the divisor is small? */
} guard_place;

typedef struct guard_walk {
    graph_guards *found;
    pgy_dtype half;
    int budget;       /* of nodes that are looked at */
    const char *name; /* of the constant that was found */
    double number;
    const pgy_value *measured; /* what the divisor is the size of, or NULL */
    pgy_status status;
    pgy_error *err;
} guard_walk;

/* Bits of graph_guards.nodes, for float16; twice as much for bfloat16. */
enum { GUARD_KEEPS = 1, GUARD_MADE_LARGE = 4 };

void guard_set(guard_walk *w, const pgy_node *n, unsigned bit);
/* n stays, with what it chooses by. */
void guard_keep(guard_walk *w, const pgy_node *n);
/* Does c keep the divisor from 0 in float32, but not in 16 bits? */
bool guard_is_too_small(const guard_walk *w, double c, guard_place p);
/* The name and number for the message; true. */
bool guard_found(guard_walk *w, const char *name, double number);
bool guard_is_constant(const pgy_value *v);
/* The only number of v. */
bool guard_scalar(guard_walk *w, double *out, pgy_value *v);
/* Does n give the numbers that it reads? */
bool guard_moves(const pgy_node *n);
/* Is v made of such a constant? Then all between the two is kept, with the sum of squares that it
 * belongs to, which would leave the range of 16 bits on either side. */
bool guard_back(guard_walk *w, pgy_value *v, guard_place p);

#endif

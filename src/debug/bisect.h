/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which a search visits the numbers 0 to count - 1. */
#ifndef DEBUG_BISECT_H
#define DEBUG_BISECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bisection {
    bool linear;   /* visit all of them */
    bool downward; /* linear: from the last one; bisection: failures are at the upper end */
    size_t count, index, visited;
    size_t good, bad; /* numbers known, or assumed, to pass and to fail */
} bisection;

bisection bisection_start(size_t count, bool linear, bool downward);
/* Moves to the next number after the verdict on `index`; false: the search has ended. */
bool bisection_next(bisection *b, bool passed);
int64_t bisection_remaining(const bisection *b);

#endif

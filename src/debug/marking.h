/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of layers that a search marks, trial after trial. */
#ifndef DEBUG_MARKING_H
#define DEBUG_MARKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct marking {
    bool linear;
    size_t most;      /* number of layers */
    size_t count;     /* layers to mark in the next trial */
    size_t good, bad; /* numbers known, or assumed, to pass and to fail */
    bool passed;      /* has a trial passed? Then it was with `good` layers */
} marking;

marking marking_start(size_t most, bool linear);
/* Moves to the next number after the verdict on `count`; false: the search has ended. */
bool marking_next(marking *m, bool passed);
int64_t marking_remaining(const marking *m);

#endif

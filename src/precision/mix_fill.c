/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of a mix that get 16 bits: those that cost less then. What lies between 8-bit layers
 * does not, as long as it passes their 8 bits on. */
#include "base/cancel.h"
#include "precision/precision.h"

/* Gives layer i 16 bits if it can have them and that makes the set cheaper. */
static bool saves(const pgy_precision *p, level *set, size_t i)
{
    if (set[i] != LEVEL_WIDE || !mix_can(p, i, LEVEL_REST)) return false;
    const double before = cost_of(p, set);
    set[i] = LEVEL_REST;
    if (cost_of(p, set) < before) return true;
    set[i] = LEVEL_WIDE;
    return false;
}

size_t mix_fill(const pgy_precision *p, level *set, bool *added)
{
    size_t count = 0;
    for (size_t i = 0; i < p->summary.layers; i++) {
        if (cancel_requested()) return 0; /* the next trial ends the search */
        added[i] = saves(p, set, i);
        count += added[i];
    }
    return count;
}

void mix_find_between(const pgy_precision *p, level *set, bool *between)
{
    for (size_t i = 0; i < p->summary.layers; i++) {
        if (cancel_requested()) return;
        const bool wide = set[i] == LEVEL_WIDE && mix_can(p, i, LEVEL_REST);
        between[i] = wide && !saves(p, set, i);
        if (wide) set[i] = LEVEL_WIDE;
    }
}

void mix_fill_between(const pgy_precision *p, level *set, bool *between)
{
    for (size_t i = 0; i < p->summary.layers; i++)
        if (between[i] && saves(p, set, i)) between[i] = false;
}

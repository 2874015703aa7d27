/* SPDX-License-Identifier: Apache-2.0 */
/* Walks through trees, interleaved: each step waits for two loads. */
#ifndef KERNELS_FOREST_WALK_H
#define KERNELS_FOREST_WALK_H

#include "kernels/forest.h"

/* How the tests of a forest are: all <= that NaNs fail, all comparisons, or also membership. */
enum forest_tests { FOREST_SIMPLE, FOREST_COMPARES, FOREST_ANY };

/* Rows of features and, if sets are walked, their places. */
typedef struct forest_rows {
    const float *x[FOREST_LANES];
    const uint32_t *places[FOREST_LANES];
} forest_rows;

/* Without branches: they could not be predicted. */
static inline __attribute__((always_inline)) uint32_t forest_step_from(const forest_step *n,
                                                                       const forest_rows *r,
                                                                       int row,
                                                                       const uint32_t *sets,
                                                                       enum forest_tests tests)
{
    const uint32_t feature = n->feature & FOREST_FEATURE;
    const float v = r->x[row][feature], s = n->split;
    if (tests == FOREST_SIMPLE) return n->next[v <= s];
    const uint32_t mask = forest_mask_of(n), how = (v >= s) + (v > s) + 3 * (v != v);
    const uint32_t passes = mask >> how & 1;
    if (tests == FOREST_COMPARES) return n->next[passes];
    const uint32_t *set = sets + (mask ? 0 : forest_split_bits(n));
    const uint32_t member = forest_has(set, r->places[row][feature]);
    return n->next[mask ? passes : member];
}

/* Walks FOREST_LANES rows or, with `one`, FOREST_GROUP trees for row 0 to their leaves, which are
 * at least `depth` steps away. A leaf leads to itself. `depth` may include FOREST_EVEN. */
static inline __attribute__((always_inline)) void forest_walk_lanes(
    const forest_view *v, uint32_t *at, const forest_rows *r, uint32_t depth,
    enum forest_tests tests, bool one)
{
    const int lanes =
        one ? FOREST_GROUP : FOREST_LANES; /* more of them hide more of memory's latency */
    const forest_step *nodes = v->nodes;
    const uint32_t *sets = v->sets;
    uint32_t moved;
    for (uint32_t d = 0; d < depth % FOREST_EVEN; d++)
#pragma GCC unroll 16
        for (int i = 0; i < lanes; i++)
            at[i] = forest_step_from(&nodes[at[i]], r, one ? 0 : i, sets, tests);
    if (depth & FOREST_EVEN) return;
    do {
        moved = 0;
#pragma GCC unroll 16
        for (int i = 0; i < lanes; i++) {
            const uint32_t next = forest_step_from(&nodes[at[i]], r, one ? 0 : i, sets, tests);
            moved |= next ^ at[i];
            at[i] = next;
        }
    } while (moved);
}

static inline void forest_walk(const forest_view *v, uint32_t *at, const forest_rows *r,
                               uint32_t depth, bool one)
{
    if (v->p->sets && one)
        forest_walk_lanes(v, at, r, depth, FOREST_ANY, true);
    else if (v->p->sets)
        forest_walk_lanes(v, at, r, depth, FOREST_ANY, false);
    else if (!v->p->simple && one)
        forest_walk_lanes(v, at, r, depth, FOREST_COMPARES, true);
    else if (!v->p->simple)
        forest_walk_lanes(v, at, r, depth, FOREST_COMPARES, false);
    else if (one)
        forest_walk_lanes(v, at, r, depth, FOREST_SIMPLE, true);
    else
        forest_walk_lanes(v, at, r, depth, FOREST_SIMPLE, false);
}

#endif

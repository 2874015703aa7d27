/* SPDX-License-Identifier: Apache-2.0 */
/* Tests for equality become tests for membership in a set of whole numbers, one bit each. A chain
 * of them, whose passing sides are the same node, is one test. */
#include <math.h>

#include "kernels/forest.h"

/* Larger numbers become ranks, which are below MOST_RANK. A chain is cut after
 * MOST_CHAIN nodes: each may be a root, too, and then has a set of its own. */
enum { MOST_NUMBER = 1 << 16, MOST_RANK = 1 << 24, MOST_CHAIN = 256 };

static bool continues(const forest *f, const forest_node *n)
{
    const forest_node *next = &f->nodes[n->next[0]];
    return n->mode == FOREST_EQ && next->mode == FOREST_EQ && next->feature == n->feature &&
           next->missing == n->missing && next->next[1] == n->next[1];
}

/* The last test of the chain that begins at `at`. */
static const forest_node *chain_end(const forest *f, uint32_t at)
{
    const forest_node *n = &f->nodes[at];
    for (int i = 1; i < MOST_CHAIN && continues(f, n); i++) n = &f->nodes[n->next[0]];
    return n;
}

bool forest_is_set(const forest_node *n)
{
    return n->mode == FOREST_EQ || n->mode == FOREST_NEQ;
}

uint32_t forest_child(const forest *f, uint32_t at, int side)
{
    const forest_node *n = &f->nodes[at];
    if (n->mode == FOREST_NEQ) return n->next[1 - side];
    return side ? n->next[1] : chain_end(f, at)->next[0];
}

bool forest_sets_fit(const forest *f)
{
    for (size_t i = 0; i < f->node_count; i++) {
        const forest_node *n = &f->nodes[i];
        const bool whole = n->split >= 0 && n->split < MOST_NUMBER && n->split == floor(n->split);
        if (forest_is_set(n) && !whole && !isnan(n->split)) return false;
    }
    return true;
}

/* The place of a node's number; false: NaN equals nothing. */
static bool place_of(uint32_t *out, const forest_node *n)
{
    if (!(n->split >= 0 && n->split < MOST_RANK)) return false;
    *out = forest_place_of((float)n->split);
    return true;
}

/* Segments of the set at `at`: the first one and their number. An empty set has segment 0. */
static void measure(uint32_t *first, uint32_t *count, const forest *f, uint32_t at)
{
    const forest_node *n = &f->nodes[at], *end = chain_end(f, at);
    const bool missing = n->mode == FOREST_EQ && n->missing;
    uint32_t least = missing ? 0 : UINT32_MAX, most = 0, place;
    for (;; n = &f->nodes[n->next[0]]) {
        if (place_of(&place, n)) {
            least = place < least ? place : least;
            most = place > most ? place : most;
        }
        if (n == end) break;
    }
    *first = least == UINT32_MAX ? 0 : least / FOREST_WORD;
    *count = most / FOREST_WORD - *first + 1;
}

size_t forest_put_set(uint32_t *to, const forest *f, uint32_t at)
{
    const forest_node *n = &f->nodes[at], *end = chain_end(f, at);
    uint32_t first, count, place;
    measure(&first, &count, f, at);
    if (!to) return FOREST_SET_HEAD + (size_t)count;
    to[0] = first;
    to[1] = count;
    uint32_t *bits = to + FOREST_SET_HEAD;
    if (n->mode == FOREST_EQ && n->missing) bits[0] |= 1; /* the place of NaN */
    for (;; n = &f->nodes[n->next[0]]) {
        if (place_of(&place, n)) bits[place / FOREST_WORD - first] |= 1u << place % FOREST_WORD;
        if (n == end) break;
    }
    return FOREST_SET_HEAD + (size_t)count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Exact order statistics without sorting or copying: elements are mapped to unsigned keys that sort
 * alike, and the keys' bits are counted 11 at a time, from the top. After each pass over the data
 * every wanted rank knows 11 more bits of its key; only elements that share a wanted rank's bits so
 * far are counted in the next pass. */
#ifndef COMPARE_SELECT_H
#define COMPARE_SELECT_H

#include "compare/arith.h"

#define SELECT_BITS 11
#define SELECT_BINS (1 << SELECT_BITS)
#define SELECT_RANKS 10
#define SELECT_LEVELS 6

uint64_t select_key(work_type work, const void *values, size_t i);
/* The inverse, as the double that holds the element (int64 beyond 2^53 are rounded). */
double select_value(work_type work, uint64_t key);

typedef struct selection {
    work_type work;
    uint64_t base; /* the smallest key; the others count from here */
    unsigned shift[SELECT_LEVELS];
    unsigned levels, level; /* all, and the present one */
    size_t rank_count;
    uint64_t rank[SELECT_RANKS];   /* within the rank's group */
    uint64_t prefix[SELECT_RANKS]; /* bits known so far */
    unsigned group_of[SELECT_RANKS];
    unsigned group_count;
    /* next[l][g][bin]: group at level l + 1 of what falls in this bin of group g, plus 1; 0 =
     * nobody wants it */
    uint8_t next[SELECT_LEVELS - 1][SELECT_RANKS][SELECT_BINS];
} selection;

/* Counters of one task: per group of the level, twice for level 0 (see select.c). */
typedef struct select_counts {
    uint32_t bins[SELECT_RANKS][SELECT_BINS];
} select_counts;

/* Keys of the smallest and the largest element. Ranks count from 0. */
void selection_init(selection *s, work_type work, uint64_t low, uint64_t high,
                    const uint64_t *ranks, size_t count);
bool selection_done(const selection *s);
/* Counts a block whose keys lie in [low, high]. @return false if `values` is NULL but needed
 * (nothing counted) */
bool selection_count(const selection *s, select_counts *c, const void *values, size_t n,
                     uint64_t low, uint64_t high);
/* `total` holds the counts of all tasks. */
void selection_advance(selection *s, uint64_t (*total)[SELECT_BINS]);
double selection_result(const selection *s, size_t rank_index);
uint64_t selection_key(const selection *s, size_t rank_index);

#endif

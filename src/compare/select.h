/* SPDX-License-Identifier: Apache-2.0 */
/* Exact order statistics without sorting or copying. Elements map to unsigned keys with the same
 * order, and histograms of the keys' bits are made from the top, 16 bits per pass. Each pass over
 * the data fixes more bits of the key of every wanted rank; the next pass counts only the elements
 * that share these bits. */
#ifndef COMPARE_SELECT_H
#define COMPARE_SELECT_H

#include "compare/arith.h"

#define SELECT_BITS 16
#define SELECT_BINS (1 << SELECT_BITS)
#define SELECT_RANKS WANTED_MOST
#define SELECT_LEVELS 4

uint64_t select_key(work_type work, const void *values, size_t i);
/* The inverse, as the double that holds the element (int64 beyond 2^53 are rounded). */
double select_value(work_type work, uint64_t key);

typedef struct selection {
    work_type work;
    uint64_t base; /* the smallest key, subtracted from all keys */
    unsigned shift[SELECT_LEVELS];
    unsigned levels, level; /* number of passes over the data, and the current pass */
    size_t rank_count;
    /* position of the wanted element among the elements of its group */
    uint64_t rank[SELECT_RANKS];
    uint64_t prefix[SELECT_RANKS]; /* the wanted key's bits that are known so far, the others 0 */
    size_t group_of[SELECT_RANKS];
    wanted_keys wanted; /* from pass 1 on: the known upper bits of each group of keys */
} selection;

/* Key counts of one task, and of all tasks, per group of keys; the first pass has one group.
 * Untouched pages of zeroed memory cost nothing, so the size does not matter. */
typedef struct select_counts {
    uint32_t bins[SELECT_RANKS][SELECT_BINS];
} select_counts;
typedef struct select_totals {
    uint64_t bins[SELECT_RANKS][SELECT_BINS];
} select_totals;

/* `low`, `high`: keys of the smallest and the largest element. `ranks`: wanted positions in sorted
 * order, from 0. */
void selection_init(selection *s, work_type work, uint64_t low, uint64_t high,
                    const uint64_t *ranks, size_t count);
/* The same for few elements, given by their keys: sorts the keys, and the selection is done at
 * once. */
void selection_init_sorted(selection *s, work_type work, uint64_t *keys, size_t n,
                           const uint64_t *ranks, size_t count);
bool selection_done(const selection *s);
/* Counts a block whose keys lie in [low, high]. @return false if `values` is NULL but needed
 * (nothing counted) */
bool selection_count(const selection *s, select_counts *c, const void *values, size_t n,
                     uint64_t low, uint64_t high);
/* Adds this pass's counters of one task to the totals, and clears the counters. */
void selection_collect(const selection *s, select_totals *total, select_counts *c);
/* Fixes more key bits by the totals, clears the totals, and goes to the next pass. */
void selection_advance(selection *s, select_totals *total);
double selection_result(const selection *s, size_t rank_index);
uint64_t selection_key(const selection *s, size_t rank_index);

#endif

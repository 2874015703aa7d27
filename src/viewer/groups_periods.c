/* SPDX-License-Identifier: Apache-2.0 */
/* A candidate is the distance between two equal pieces of 1, 2, 4 ... 128 elements with no third
 * one between them. A single element may occur often in one period, but a long piece hardly does.
 * The most frequent candidates are tried. */
#include "viewer/groups_periods.h"

#include <string.h>

#include "base/arena.h"
#include "base/hash.h"

typedef struct last_seen {
    uint64_t key;
    uint32_t at; /* index + 1 */
} last_seen;

/* Counts the distances from each piece to the previous equal one. */
static void count_distances(uint32_t *votes, last_seen *table, uint32_t table_size,
                            const uint64_t *pieces, uint32_t count)
{
    memset(table, 0, table_size * sizeof *table);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = (uint32_t)(hash_xxh64(&pieces[i], sizeof *pieces, 7) & (table_size - 1));
        while (table[slot].at && table[slot].key != pieces[i]) slot = (slot + 1) & (table_size - 1);
        if (table[slot].at) votes[i + 1 - table[slot].at]++;
        table[slot] = (last_seen){pieces[i], i + 1};
    }
}

/* How many elements need not be shown if the sequence repeats at this distance. */
static uint64_t saved(const uint64_t *sequence, uint32_t count, uint32_t period)
{
    uint64_t sum = 0;
    for (uint32_t i = 0, run = 0; i + period <= count; i++) {
        if (i + period < count && sequence[i] == sequence[i + period]) {
            run++;
            continue;
        }
        sum += run / period * period;
        run = 0;
    }
    return sum;
}

static uint32_t most_voted(uint32_t periods[GROUP_PERIODS], uint32_t *votes, uint32_t count)
{
    uint32_t found = 0;
    for (uint32_t d = 1; d <= count / 2; d++) {
        if (!votes[d]) continue;
        uint32_t at = found;
        while (at && votes[periods[at - 1]] < votes[d]) at--;
        if (at == GROUP_PERIODS) continue;
        if (found < GROUP_PERIODS) found++;
        memmove(&periods[at + 1], &periods[at], (found - at - 1) * sizeof *periods);
        periods[at] = d;
    }
    return found;
}

uint32_t group_periods(uint32_t periods[GROUP_PERIODS], const uint64_t *sequence, uint32_t count)
{
    enum { LONGEST = 128 };
    uint64_t saves[GROUP_PERIODS];
    uint32_t table_size = 16, found = UINT32_MAX;
    arena memory = {0};
    while (table_size < 2 * (uint64_t)count) table_size *= 2;
    last_seen *table = arena_alloc_array(&memory, table_size, sizeof *table);
    uint64_t *pieces = arena_alloc_array(&memory, count, sizeof *pieces);
    uint32_t *votes = arena_alloc_array(&memory, (size_t)count + 1, sizeof *votes);
    if (!table || !pieces || !votes) goto done;
    memcpy(pieces, sequence, count * sizeof *pieces);
    for (uint32_t size = 1; size <= LONGEST && size < count; size *= 2) {
        count_distances(votes, table, table_size, pieces, count - size + 1);
        for (uint32_t i = 0; i + 2 * size <= count; i++) {
            const uint64_t both[] = {pieces[i], pieces[i + size]};
            pieces[i] = hash_xxh64(both, sizeof both, size);
        }
    }
    found = most_voted(periods, votes, count);
    for (uint32_t i = 0; i < found; i++) {
        const uint64_t s = saved(sequence, count, periods[i]);
        const uint32_t p = periods[i];
        uint32_t at = i;
        for (; at && saves[at - 1] < s; at--) {
            saves[at] = saves[at - 1];
            periods[at] = periods[at - 1];
        }
        saves[at] = s;
        periods[at] = p;
    }
    while (found && !saves[found - 1]) found--;
done:
    arena_deinit(&memory);
    return found;
}

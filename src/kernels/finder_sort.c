/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts by digits, lowest first, without those that all keys have in common. */
#include "kernels/finder_sort.h"

#include <stdbool.h>

#include "base/cancel.h"

enum { FEW = 24, LONG = 2048, WIDE = 11, NARROW = 8 };

static void insert(finder_key *keys, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const finder_key k = keys[i];
        size_t at = i;
        for (; at && keys[at - 1].key > k.key; at--) keys[at] = keys[at - 1];
        keys[at] = k;
    }
}

static void sort_digit(finder_key *to, const finder_key *from, size_t n, unsigned shift,
                       uint64_t mask)
{
    uint32_t at[1 << WIDE] = {0};
    uint32_t sum = 0;
    for (size_t i = 0, end; i < n && !cancel_requested();)
        for (end = finder_piece_end(i, n); i < end; i++) at[from[i].key >> shift & mask]++;
    for (size_t d = 0; d <= mask; d++) {
        const uint32_t count = at[d];
        at[d] = sum;
        sum += count;
    }
    for (size_t i = 0, end; i < n && !cancel_requested();)
        for (end = finder_piece_end(i, n); i < end; i++)
            to[at[from[i].key >> shift & mask]++] = from[i];
}

finder_key *finder_sort(finder_key *keys, finder_key *spare, size_t n)
{
    const unsigned bits = n < LONG ? NARROW : WIDE;
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint64_t differ = 0;
    if (n <= FEW) {
        insert(keys, n);
        return keys;
    }
    for (size_t i = 1; i < n; i++) differ |= keys[i].key ^ keys[0].key;
    for (unsigned shift = 0; shift < 64 && !cancel_requested(); shift += bits) {
        if (!(differ >> shift & mask)) continue;
        sort_digit(spare, keys, n, shift, mask);
        finder_key *sorted = spare;
        spare = keys;
        keys = sorted;
    }
    return keys;
}

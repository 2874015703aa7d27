/* SPDX-License-Identifier: Apache-2.0 */
/* All values are in memory already, so one segment holds all tensors. */
#include "where/stored.h"

#include "base/alloc.h"
#include "where/compare_rows.h"

bool where_is_stored(const where_search *s)
{
    return s->a.source.side->results && s->b.source.side->results;
}

pgy_status where_stored_count(where_search *s, pgy_error *err)
{
    pgy_status st = where_source_open(&s->a.source, err);
    if (!st) st = where_source_open(&s->b.source, err);
    if (st) return st;
    const size_t a = where_source_stored(&s->a.source), b = where_source_stored(&s->b.source);
    if (a != b || !a)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%s' has %zu iterations, but '%s' has %zu; expected equal numbers of "
                             "at least 1",
                             s->a.source.side->results, a, s->b.source.side->results, b);
    s->feeds = mem_calloc(a, sizeof *s->feeds);
    if (!s->feeds) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    while (!st && s->feed_count < a)
        if (!(st = pgy_tensor_map_create(&s->feeds[s->feed_count], err))) s->feed_count++;
    return st;
}

static const pgy_tensor_map *outputs_of(const where_source *s, size_t sample)
{
    return pgy_results_at(s->results, 0, sample)->outputs;
}

pgy_status where_stored_match(where_search *s, strvec *unmatched, pgy_error *err)
{
    pgy_status st = where_stored_count(s, err);
    if (!st) st = where_floors_prepare(s, NULL, err);
    return st ? st
              : where_match_stored(&s->report->rows, unmatched, outputs_of(&s->a.source, 0),
                                   outputs_of(&s->b.source, 0), &s->report->memory, err);
}

pgy_status where_stored_compare(where_search *s, pgy_error *err)
{
    where_rows *rows = &s->report->rows;
    where_segment all = {.rows = mem_calloc(rows->count + 1, sizeof *all.rows)};
    pgy_status st = all.rows ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < rows->count; i++) all.rows[all.count++] = &rows->items[i];
    for (size_t i = 0; !st && i < s->feed_count; i++)
        st = where_compare_rows(s, &all, outputs_of(&s->a.source, i), outputs_of(&s->b.source, i),
                                i, err);
    s->report->batches = 1;
    mem_free(all.rows);
    return st;
}

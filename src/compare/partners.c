/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the partner of each output on the other side. Each output has at most one partner, and the
 * rule treats both sides alike, so that their order cannot change the verdict:
 *   1. equal names;
 *   2. names of which one contains the other, the most similar pair first: the smallest difference
 *      of lengths, then the smallest distance of positions, then the first positions;
 *   3. equal positions.
 * Two pairs of the same rank under 2 are (i, k) and (k, i), which do not compete for an output. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "compare/compare.h"

typedef struct candidate {
    /* the pair's rank, by these numbers in turn; smaller is better */
    size_t length_gap, place_gap, first_place;
    size_t i, k;
} candidate;

typedef struct matching {
    const pgy_iteration *a, *b;
    size_t *partners; /* indexed by output of a: the output of b, or NO_PARTNER */
    bool *taken;      /* indexed by output of b: it has a partner */
    candidate *candidates;
    size_t count, capacity;
} matching;

static const char *name_at(const pgy_iteration *it, size_t i)
{
    return pgy_tensor_map_name(it->outputs, i);
}

static size_t output_count(const pgy_iteration *it)
{
    return pgy_tensor_map_count(it->outputs);
}

static size_t gap(size_t x, size_t y)
{
    return x > y ? x - y : y - x;
}

static bool is_open(const matching *m, size_t i, size_t k)
{
    return m->partners[i] == NO_PARTNER && !m->taken[k];
}

static void take(matching *m, size_t i, size_t k)
{
    m->partners[i] = k;
    m->taken[k] = true;
}

static void match_equal_names(matching *m)
{
    for (size_t i = 0; i < output_count(m->a); i++) {
        if (!pgy_tensor_map_find(m->b->outputs, name_at(m->a, i))) continue;
        for (size_t k = 0; k < output_count(m->b); k++)
            if (!strcmp(name_at(m->a, i), name_at(m->b, k))) take(m, i, k);
    }
}

static int by_rank(const void *x, const void *y)
{
    const candidate *p = x, *q = y;
    if (p->length_gap != q->length_gap) return p->length_gap < q->length_gap ? -1 : 1;
    if (p->place_gap != q->place_gap) return p->place_gap < q->place_gap ? -1 : 1;
    return (p->first_place > q->first_place) - (p->first_place < q->first_place);
}

static pgy_status add_candidate(matching *m, size_t i, size_t k, pgy_error *err)
{
    const char *x = name_at(m->a, i), *y = name_at(m->b, k);
    if (!str_contains_nocase(x, y) && !str_contains_nocase(y, x)) return PGY_OK;
    if (!mem_grow((void **)&m->candidates, &m->capacity, m->count + 1, sizeof *m->candidates))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while pairing outputs by name");
    m->candidates[m->count++] =
        (candidate){gap(strlen(x), strlen(y)), gap(i, k), i < k ? i : k, i, k};
    return PGY_OK;
}

static pgy_status match_contained_names(matching *m, pgy_error *err)
{
    for (size_t i = 0; i < output_count(m->a); i++)
        for (size_t k = 0; k < output_count(m->b); k++) {
            pgy_status st = is_open(m, i, k) ? add_candidate(m, i, k, err) : PGY_OK;
            if (st) return st;
        }
    if (m->count) qsort(m->candidates, m->count, sizeof *m->candidates, by_rank);
    for (size_t c = 0; c < m->count; c++)
        if (is_open(m, m->candidates[c].i, m->candidates[c].k))
            take(m, m->candidates[c].i, m->candidates[c].k);
    return PGY_OK;
}

static void match_places(matching *m)
{
    for (size_t i = 0; i < output_count(m->a) && i < output_count(m->b); i++)
        if (is_open(m, i, i)) take(m, i, i);
}

/* The original's choice for one output. It may choose the same output for several others. */
static size_t original_partner(const pgy_iteration *a, const pgy_iteration *b, size_t i)
{
    const char *name = name_at(a, i);
    size_t count = output_count(b), k = 0;
    if (pgy_tensor_map_find(b->outputs, name)) {
        while (strcmp(name_at(b, k), name) != 0) k++;
        return k;
    }
    while (k < count && !str_contains_nocase(name_at(b, k), name) &&
           !str_contains_nocase(name, name_at(b, k)))
        k++;
    if (k == count) k = i;
    return k < count ? k : NO_PARTNER;
}

const char *compare_refused_partner(const pgy_iteration *a, const pgy_iteration *b, size_t i)
{
    size_t k = original_partner(a, b, i);
    if (k == NO_PARTNER || !strcmp(name_at(a, i), name_at(b, k))) return NULL;
    return pgy_tensor_map_find(a->outputs, name_at(b, k)) ? name_at(b, k) : NULL;
}

static size_t accepted_original(const pgy_iteration *a, const pgy_iteration *b, size_t i)
{
    size_t k = original_partner(a, b, i);
    return k == NO_PARTNER || compare_refused_partner(a, b, i) ? NO_PARTNER : k;
}

pgy_status compare_find_partners(size_t **partners, const pgy_iteration *a, const pgy_iteration *b,
                                 bool compat, pgy_error *err)
{
    matching m = {.a = a, .b = b};
    m.partners = mem_calloc(output_count(a) + 1, sizeof *m.partners);
    m.taken = mem_calloc(output_count(b) + 1, sizeof *m.taken);
    pgy_status st = m.partners && m.taken
                        ? PGY_OK
                        : pgy_error_set(err, PGY_E_MEMORY, "out of memory while pairing outputs");
    if (st) goto done;
    for (size_t i = 0; i < output_count(a); i++)
        m.partners[i] = compat ? accepted_original(a, b, i) : NO_PARTNER;
    if (!compat) {
        match_equal_names(&m);
        st = match_contained_names(&m, err);
        if (st) goto done;
        match_places(&m);
    }
    *partners = m.partners;
    m.partners = NULL;
done:
    mem_free(m.partners);
    mem_free(m.taken);
    mem_free(m.candidates);
    return st;
}

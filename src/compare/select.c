/* SPDX-License-Identifier: Apache-2.0 */
/* Radix selection over keys (select.h). If the smallest and the largest key of a block agree in all
 * bits up to the current level, the block is counted without reading it. Runs of equal differences
 * (mostly zeros) then cost nothing. */
#include "compare/select.h"

#include <stdlib.h>
#include <string.h>

/* Adding zero turns -0 into +0, because the order must treat both as one value. */
static inline uint32_t key_f32(float v)
{
    uint32_t b;
    v += 0.0f;
    memcpy(&b, &v, sizeof b);
    return b ^ ((uint32_t) - (int32_t)(b >> 31) | 0x80000000u);
}

static inline uint64_t key_f64(double v)
{
    uint64_t b;
    v += 0.0;
    memcpy(&b, &v, sizeof b);
    return b ^ ((uint64_t) - (int64_t)(b >> 63) | UINT64_C(1) << 63);
}

static inline uint64_t key_i64(int64_t v)
{
    return (uint64_t)v ^ UINT64_C(1) << 63;
}

static inline uint64_t key_u64(uint64_t v)
{
    return v;
}

static size_t wanted_f32(uint32_t *keys, const float *x, size_t n, const wanted_keys *w)
{
    return block_kernels_best()->wanted_f32(keys, x, n, w);
}

static size_t wanted_f64(uint64_t *keys, const double *x, size_t n, const wanted_keys *w)
{
    return block_kernels_best()->wanted_f64(keys, x, n, w);
}

static bool is_wanted(const wanted_keys *w, uint64_t key)
{
    for (size_t i = 0; i < w->count; i++)
        if (key >> w->shift == w->prefixes[i]) return true;
    return false;
}

static size_t wanted_i64(uint64_t *keys, const int64_t *x, size_t n, const wanted_keys *w)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t k = key_i64(x[i]) - w->base;
        if (is_wanted(w, k)) keys[found++] = k;
    }
    return found;
}

static size_t wanted_u64(uint64_t *keys, const uint64_t *x, size_t n, const wanted_keys *w)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t k = x[i] - w->base;
        if (is_wanted(w, k)) keys[found++] = k;
    }
    return found;
}

#define T float
#define KEY uint32_t
#define NAME(x) x##_f32
#include "compare/select.inc"
#undef T
#undef KEY
#undef NAME
#define T double
#define KEY uint64_t
#define NAME(x) x##_f64
#include "compare/select.inc"
#undef T
#undef NAME
#define T int64_t
#define NAME(x) x##_i64
#include "compare/select.inc"
#undef T
#undef NAME
#define T uint64_t
#define NAME(x) x##_u64
#include "compare/select.inc"
#undef T
#undef KEY
#undef NAME

uint64_t select_key(work_type work, const void *values, size_t i)
{
    switch (work) {
    case WORK_F32: return key_f32(((const float *)values)[i]);
    case WORK_F64: return key_f64(((const double *)values)[i]);
    case WORK_I64: return key_i64(((const int64_t *)values)[i]);
    default: return ((const uint64_t *)values)[i];
    }
}

static float value_f32(uint32_t key)
{
    float v;
    key ^= (uint32_t)((int32_t)(key >> 31) - 1) | 0x80000000u;
    memcpy(&v, &key, sizeof v);
    return v;
}

static double value_f64(uint64_t key)
{
    double v;
    key ^= (uint64_t)((int64_t)(key >> 63) - 1) | UINT64_C(1) << 63;
    memcpy(&v, &key, sizeof v);
    return v;
}

double select_value(work_type work, uint64_t key)
{
    switch (work) {
    case WORK_F32: return (double)value_f32((uint32_t)key);
    case WORK_F64: return value_f64(key);
    case WORK_I64: return (double)(int64_t)(key ^ UINT64_C(1) << 63);
    default: return (double)key;
    }
}

void selection_init(selection *s, work_type work, uint64_t low, uint64_t high,
                    const uint64_t *ranks, size_t count)
{
    unsigned bits = high > low ? 64 - (unsigned)__builtin_clzll(high - low) : 0;
    *s = (selection){.work = work, .base = low, .rank_count = count};
    while (bits) {
        bits = bits > SELECT_BITS ? bits - SELECT_BITS : 0;
        s->shift[s->levels++] = bits;
    }
    for (size_t i = 0; i < count; i++) s->rank[i] = ranks[i];
}

static int by_value(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

void selection_init_sorted(selection *s, work_type work, uint64_t *keys, size_t n,
                           const uint64_t *ranks, size_t count)
{
    qsort(keys, n, sizeof *keys, by_value);
    *s = (selection){.work = work, .base = keys[0], .rank_count = count};
    for (size_t i = 0; i < count; i++) s->prefix[i] = keys[ranks[i]] - keys[0];
}

bool selection_done(const selection *s)
{
    return s->level >= s->levels;
}

/* The bin that the current pass counts a key in: the next bits below the known ones. */
static unsigned level_bin(const selection *s, uint64_t k)
{
    unsigned shift = s->shift[s->level];
    if (s->level == 0) return (unsigned)(k >> shift);
    return (unsigned)(k >> shift) & ((1u << (s->shift[s->level - 1] - shift)) - 1);
}

static void count_equal(const selection *s, select_counts *c, uint64_t k, size_t n)
{
    if (s->level == 0) {
        c->bins[0][level_bin(s, k)] += (uint32_t)n;
        return;
    }
    for (size_t g = 0; g < s->wanted.count; g++)
        if (k >> s->wanted.shift == s->wanted.prefixes[g])
            c->bins[g][level_bin(s, k)] += (uint32_t)n;
}

bool selection_count(const selection *s, select_counts *c, const void *values, size_t n,
                     uint64_t low, uint64_t high)
{
    uint64_t from = low - s->base, to = high - s->base;
    if (from >> s->shift[s->level] == to >> s->shift[s->level]) {
        count_equal(s, c, from, n);
        return true;
    }
    if (!values) return false;
    bool first = s->level == 0;
    switch (s->work) {
    case WORK_F32: (first ? count_first_f32 : count_later_f32)(s, c, values, n); break;
    case WORK_F64: (first ? count_first_f64 : count_later_f64)(s, c, values, n); break;
    case WORK_I64: (first ? count_first_i64 : count_later_i64)(s, c, values, n); break;
    case WORK_U64: (first ? count_first_u64 : count_later_u64)(s, c, values, n); break;
    }
    return true;
}

static size_t group_count(const selection *s)
{
    return s->level ? s->wanted.count : 1;
}

void selection_collect(const selection *s, select_totals *total, select_counts *c)
{
    for (size_t g = 0; g < group_count(s); g++) {
        for (size_t i = 0; i < SELECT_BINS; i++) total->bins[g][i] += c->bins[g][i];
        memset(c->bins[g], 0, sizeof c->bins[g]);
    }
}

/* Index of the group of keys that share `prefix` as upper bits in the next pass. Adds a group for a
 * new prefix. */
static size_t group_for(wanted_keys *w, uint64_t prefix)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->prefixes[i] == prefix) return i;
    w->prefixes[w->count] = prefix;
    return w->count++;
}

void selection_advance(selection *s, select_totals *total)
{
    wanted_keys next = {.base = s->base, .shift = s->shift[s->level]};
    for (size_t i = 0; i < s->rank_count; i++) {
        const uint64_t *counts = total->bins[s->group_of[i]];
        size_t bin = 0;
        while (bin < SELECT_BINS - 1 && s->rank[i] >= counts[bin]) s->rank[i] -= counts[bin++];
        s->prefix[i] |= (uint64_t)bin << next.shift;
        s->group_of[i] = group_for(&next, s->prefix[i] >> next.shift);
    }
    for (size_t g = 0; g < group_count(s); g++) memset(total->bins[g], 0, sizeof total->bins[g]);
    s->wanted = next;
    s->level++;
}

uint64_t selection_key(const selection *s, size_t rank_index)
{
    return s->base + s->prefix[rank_index];
}

double selection_result(const selection *s, size_t rank_index)
{
    return select_value(s->work, selection_key(s, rank_index));
}

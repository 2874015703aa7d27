/* SPDX-License-Identifier: Apache-2.0 */
/* Radix selection over keys (select.h). A block whose smallest and largest key agree in all bits
 * looked at so far is counted without reading it, which makes runs of equal differences (zero,
 * above all) free. */
#include "compare/select.h"

#include <string.h>

/* Adding zero turns -0 into +0: the two are one value to an order. */
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
    s->work = work;
    s->base = low;
    s->level = 0;
    s->levels = (bits + SELECT_BITS - 1) / SELECT_BITS;
    for (unsigned l = 0; l < s->levels; l++) {
        s->shift[l] = bits > SELECT_BITS ? bits - SELECT_BITS : 0;
        bits = s->shift[l];
    }
    s->rank_count = count;
    s->group_count = 1;
    for (size_t i = 0; i < count; i++) {
        s->rank[i] = ranks[i];
        s->prefix[i] = 0;
        s->group_of[i] = 0;
    }
    memset(s->next, 0, sizeof s->next);
}

bool selection_done(const selection *s)
{
    return s->level >= s->levels;
}

static unsigned level_mask(const selection *s, unsigned level)
{
    return level ? (1u << (s->shift[level - 1] - s->shift[level])) - 1 : SELECT_BINS - 1;
}

/* Counts n equal prefixes. */
static void count_equal(const selection *s, select_counts *c, uint64_t k, size_t n)
{
    unsigned group = 1;
    for (unsigned l = 0; l < s->level && group; l++)
        group = s->next[l][group - 1][(k >> s->shift[l]) & level_mask(s, l)];
    if (group)
        c->bins[group - 1][(k >> s->shift[s->level]) & level_mask(s, s->level)] += (uint32_t)n;
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

static unsigned group_for(selection *s, unsigned *count, unsigned from, unsigned bin)
{
    bool last = s->level + 1 >= s->levels;
    if (last) return 0;
    uint8_t *entry = &s->next[s->level][from][bin];
    if (!*entry) *entry = (uint8_t)++ * count;
    return *entry - 1u;
}

void selection_advance(selection *s, uint64_t (*total)[SELECT_BINS])
{
    unsigned groups = 0;
    bool first = s->level == 0;
    for (size_t i = 0; i < s->rank_count; i++) {
        unsigned from = s->group_of[i], bin = 0;
        uint64_t left = s->rank[i];
        for (; bin < SELECT_BINS - 1; bin++) {
            uint64_t here = total[from][bin] + (first ? total[1][bin] : 0);
            if (left < here) break;
            left -= here;
        }
        s->rank[i] = left;
        s->prefix[i] |= (uint64_t)bin << s->shift[s->level];
        s->group_of[i] = group_for(s, &groups, from, bin);
    }
    s->group_count = groups;
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

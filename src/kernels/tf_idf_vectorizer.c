/* SPDX-License-Identifier: Apache-2.0 */
/* TfIdfVectorizer of integers: a table of the n-grams' hashes is made once and lies among the
 * packed data. Only n-grams that occur in a row cost anything behind the look-up. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"

enum { MOST = 64 }; /* elements of an n-gram, and elements left out */

typedef struct params {
    uint64_t rows, length, width; /* of the input; columns of the output */
    uint64_t count, tokens;       /* n-grams of the pool, and their elements */
    uint64_t slots;               /* places of the table, a power of two */
    uint32_t least, most, skips;
    uint32_t once; /* counts are limited to 1 */
    uint32_t wide; /* the input has int64, not int32 */
    uint32_t unused;
} params;

/* An n-gram: where its elements are, its column and what it adds there. */
typedef struct gram {
    uint32_t at, size, column;
    float weight;
} gram;

/* The packed data. A place holds the upper half of an n-gram's hash and below it the number of the
 * n-gram plus 1, or 0. */
typedef struct pool {
    const uint64_t *slots;
    const int64_t *tokens;
    const gram *grams;
} pool;

static pool pool_of(const params *p, const void *packed)
{
    const uint64_t *slots = packed;
    const int64_t *tokens = (const int64_t *)(slots + p->slots);
    return (pool){slots, tokens, (const gram *)(tokens + p->tokens)};
}

static uint64_t pool_bytes(const params *p)
{
    return extent_add(extent_mul(extent_add(p->slots, p->tokens), 8),
                      extent_mul(p->count, sizeof(gram)));
}

static inline uint64_t hash_on(uint64_t hash, int64_t token)
{
    hash = (hash ^ (uint64_t)token) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static inline int64_t token_at(const params *p, const void *x, uint64_t i)
{
    return p->wide ? ((const int64_t *)x)[i] : ((const int32_t *)x)[i];
}

/* ---- The problem ---------------------------------------------------------------------------- */

static bool read_range(params *p, const op_node *n)
{
    const int64_t least = op_attr_int(n, "min_gram_length", 1);
    const int64_t most = op_attr_int(n, "max_gram_length", 1);
    const int64_t skips = op_attr_int(n, "max_skip_count", 0);
    if (least < 0 || most < least || most > MOST || skips < 0 || skips > MOST) return false;
    p->least = least < 1 ? 1 : (uint32_t)least;
    p->most = (uint32_t)most;
    p->skips = (uint32_t)skips;
    return true;
}

/* Do the n-grams of each length fill their part of the pool? */
static bool fits_pool(const params *p, const op_node *n, const op_attr *ints)
{
    size_t lengths;
    const int64_t *starts = op_attr_ints(n, "ngram_counts", &lengths);
    uint64_t found = 0;
    for (size_t i = 0; i < lengths; i++) {
        const int64_t from = starts[i], to = i + 1 < lengths ? starts[i + 1] : (int64_t)ints->count;
        if (from < 0 || to < from || (uint64_t)to > ints->count || (to - from) % (int64_t)(i + 1))
            return false;
        found += (uint64_t)(to - from) / (i + 1);
    }
    return found <= p->count;
}

static bool tf_idf_vectorizer_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const op_node *n = u->node;
    const op_attr *ints = op_attr_find(n, "pool_int64s");
    size_t count, weights;
    const int64_t *columns = op_attr_ints(n, "ngram_indexes", &count);
    const float *given = op_attr_floats(n, "weights", &weights);
    const bool once = op_attr_is(n, "mode", "IDF", NULL), tf = op_attr_is(n, "mode", "TF", NULL);
    if ((x->dtype != PGY_I64 && x->dtype != PGY_I32) || y->dtype != PGY_F32 || x->rank > 2 ||
        !kernel_count(x) || !kernel_count(y) || !ints || ints->count > INT32_MAX ||
        count > INT32_MAX || (given && weights != count) ||
        (!tf && !once && !op_attr_is(n, "mode", "TFIDF", NULL)))
        return false;
    *p = (params){.rows = x->rank == 2 ? (uint64_t)x->shape[0] : 1,
                  .width = (uint64_t)y->shape[y->rank - 1],
                  .count = count,
                  .tokens = ints->count,
                  .slots = 4,
                  .once = once,
                  .wide = x->dtype == PGY_I64};
    p->length = kernel_count(x) / p->rows;
    while (p->slots < 2 * count) p->slots *= 2;
    for (size_t i = 0; i < count; i++)
        if (columns[i] < 0 || (uint64_t)columns[i] >= p->width) return false;
    return p->width <= UINT32_MAX && read_range(p, n) && fits_pool(p, n, ints);
}

static bool tf_idf_vectorizer_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!tf_idf_vectorizer_describe(&p, u)) return false;
    u->inputs[0].layout = u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)p.rows *
                         ((double)p.length * p.most * (p.skips + 1) * 5 + (double)p.width * 0.2);
    return true;
}

static void add_gram(uint64_t *slots, const params *p, const pool *l, uint64_t entry)
{
    const gram *g = &l->grams[entry];
    uint64_t hash = 0, at;
    for (uint32_t i = 0; i < g->size; i++) hash = hash_on(hash, l->tokens[g->at + i]);
    for (at = hash & (p->slots - 1); slots[at]; at = (at + 1) & (p->slots - 1)) {
        const gram *other = &l->grams[(uint32_t)slots[at] - 1];
        if (other->size == g->size &&
            !memcmp(l->tokens + other->at, l->tokens + g->at, g->size * sizeof *l->tokens))
            break; /* the last of equal n-grams counts */
    }
    slots[at] = (hash & ~(uint64_t)UINT32_MAX) | (entry + 1);
}

static void fill_pool(void *packed, const params *p, const op_node *n)
{
    size_t lengths, count;
    const op_attr *ints = op_attr_find(n, "pool_int64s");
    const int64_t *starts = op_attr_ints(n, "ngram_counts", &lengths);
    const int64_t *columns = op_attr_ints(n, "ngram_indexes", &count);
    const float *weights =
        op_attr_is(n, "mode", "TF", NULL) ? NULL : op_attr_floats(n, "weights", &count);
    const pool l = pool_of(p, packed);
    uint64_t *slots = packed, entry = 0;
    gram *grams = (gram *)(void *)((char *)packed + (p->slots + p->tokens) * 8);
    memset(packed, 0, pool_bytes(p));
    memcpy(slots + p->slots, ints->ints, ints->count * sizeof *ints->ints);
    for (size_t i = 0; i < lengths; i++) {
        const size_t to = i + 1 < lengths ? (size_t)starts[i + 1] : ints->count;
        for (size_t at = (size_t)starts[i]; at < to; at += i + 1, entry++) {
            grams[entry] = (gram){.at = (uint32_t)at,
                                  .size = (uint32_t)i + 1,
                                  .column = (uint32_t)columns[entry],
                                  .weight = weights ? weights[entry] : 1};
            add_gram(slots, p, &l, entry);
        }
    }
}

/* Counts of the n-grams, and those that have one. */
static uint64_t tf_idf_vectorizer_scratch(const params *p)
{
    return extent_mul(p->count, 2 * sizeof(uint32_t));
}

static pgy_status tf_idf_vectorizer_prepare(kernel_plan *out, const kernel_problem *u,
                                            pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)tf_idf_vectorizer_describe(p, u); /* cannot fail after `accept` */
    const size_t bytes = pool_bytes(p);
    void *packed = mem_alloc_aligned(64, bytes);
    if (!packed) {
        mem_free(p);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    fill_pool(packed, p, u->node);
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .packed = packed,
                         .packed_bytes = bytes,
                         .scratch_bytes = tf_idf_vectorizer_scratch(p),
                         .phases = 1,
                         .in_place = -1};
    out->parts = (uint32_t)(p->rows < 256 ? p->rows : 256);
    return PGY_OK;
}

static bool tf_idf_vectorizer_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    if (!p->least || p->most > MOST || p->skips > MOST || p->once > 1 || p->wide > 1)
        return extent_refuse(e, "options");
    if (!p->rows || !p->length || !p->width || p->count > INT32_MAX || p->tokens > INT32_MAX ||
        p->slots < 4 || p->slots > UINT64_C(1) << 34 || p->slots & (p->slots - 1))
        return extent_refuse(e, "sizes");
    extent_tensor(e, 0, extent_mul(p->rows, p->length), p->wide ? 8 : 4);
    extent_tensor(e, 1, extent_mul(p->rows, p->width), sizeof(float));
    e->packed = pool_bytes(p);
    e->scratch = tf_idf_vectorizer_scratch(p);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* What a thread counts a row with. */
typedef struct counter {
    const params *p;
    pool l;
    const void *x;
    uint32_t *counts, *seen;
    size_t seen_count;
} counter;

static bool is_gram(const counter *c, const gram *g, uint64_t at, uint64_t size, uint64_t step)
{
    if (g->size != size || (uint64_t)g->at + size > c->p->tokens || g->column >= c->p->width)
        return false;
    for (uint64_t i = 0; i < size; i++)
        if (c->l.tokens[g->at + i] != token_at(c->p, c->x, at + i * step)) return false;
    return true;
}

/* Looks up the n-gram of `size` elements from `at` on, `step` apart. The table can be any bytes. */
static inline void look_up(counter *c, uint64_t hash, uint64_t at, uint64_t size, uint64_t step)
{
    const uint64_t mask = c->p->slots - 1;
    uint64_t place = hash & mask;
    for (uint64_t tried = 0; tried <= mask; tried++, place = (place + 1) & mask) {
        const uint64_t slot = c->l.slots[place];
        const uint32_t entry = (uint32_t)slot;
        if (!entry || entry > c->p->count) return;
        if ((slot ^ hash) >> 32 || !is_gram(c, &c->l.grams[entry - 1], at, size, step)) continue;
        if (!c->counts[entry - 1]++) c->seen[c->seen_count++] = entry - 1;
        return;
    }
}

static void count_row(counter *c, uint64_t row)
{
    const params *p = c->p;
    const uint64_t begin = row * p->length, end = begin + p->length;
    for (uint64_t step = 1; step <= (uint64_t)p->skips + 1 && step <= p->length; step++)
        for (uint64_t first = begin; first < end; first++) {
            uint64_t hash = 0, at = first;
            for (uint64_t size = 1; size <= p->most && at < end; size++, at += step) {
                hash = hash_on(hash, token_at(p, c->x, at));
                if (size >= p->least && (step == 1 || size > 1))
                    look_up(c, hash, first, size, step);
            }
        }
}

static void write_row(counter *c, float *y)
{
    memset(y, 0, c->p->width * sizeof *y);
    for (size_t i = 0; i < c->seen_count; i++) {
        const uint32_t entry = c->seen[i], count = c->p->once ? 1 : c->counts[entry];
        const gram *g = &c->l.grams[entry];
        y[g->column] += (float)count * g->weight;
        c->counts[entry] = 0;
    }
    c->seen_count = 0;
}

static void tf_idf_vectorizer_run(const kernel_run *r)
{
    const params *p = r->params;
    counter c = {.p = p,
                 .l = pool_of(p, r->packed),
                 .x = r->tensors[0],
                 .counts = r->scratch,
                 .seen = (uint32_t *)r->scratch + p->count};
    size_t from, to;
    kernel_share(&from, &to, p->rows, r->part, r->parts);
    memset(c.counts, 0, p->count * sizeof *c.counts);
    for (size_t row = from; row < to && !cancel_requested(); row++) {
        count_row(&c, row);
        write_row(&c, (float *)r->tensors[1] + row * p->width);
    }
}

const kernel KERNELS_tf_idf_vectorizer[] = {
    {.name = "tf_idf_vectorizer",
     .version = 1,
     .ops = "TfIdfVectorizer",
     .accept = tf_idf_vectorizer_accept,
     .prepare = tf_idf_vectorizer_prepare,
     .run = tf_idf_vectorizer_run,
     .extent = tf_idf_vectorizer_extent},
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* EmbeddingBag of `pgy`: rows of a table are combined as they are read, bag by bag, in the order of
 * their indices, so results do not depend on the number of parts. Rows far apart in memory are
 * fetched ahead along the indices, which usually belong to one bag after the other. Tables of
 * 16-bit floats are widened row by row and summed in float32. */
#include "kernels/embedding_bag.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/half.h"
#include "ops/class_bag.h"

enum {
    ROWS = 64,     /* that a loop combines at once */
    COLUMNS = 512, /* of 16-bit floats that are widened at once */
    AHEAD = 24,    /* indices */
    LINE_BYTES = 64,
    MOST_LINES = 16,
    MAX_PARTS = 256,
    PART_WORK = 16384, /* elements that are worth a part */
};
/* Smaller tables stay in the caches, where fetching ahead costs more than it gains. */
static const uint64_t CACHED_BYTES = 1u << 18;

typedef struct params {
    uint64_t length, width;     /* of the table */
    uint64_t bags, each, count; /* each: indices of a bag, if there are no offsets; count: of all */
    uint32_t level, dtype, mode;
    uint32_t empty_is_zero, last_to_end;
    uint32_t wide, wide_offsets; /* indices, offsets are int64 */
    uint32_t has_offsets, has_weights, inputs;
} params;

static const bag_loops *bag_loops_of(uint32_t level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &bag_loops_avx512;
    if (level >= CPU_AVX2) return &bag_loops_avx2;
#endif
    (void)level;
    return &bag_loops_portable;
}

static uint64_t item_bytes(const params *p)
{
    return p->dtype == PGY_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* ---- The problem ---------------------------------------------------------------------------- */

static bool has_input(const kernel_problem *u, size_t i)
{
    return i < u->input_count && u->inputs[i].dtype;
}

static bool is_index(pgy_dtype dtype)
{
    return dtype == PGY_I64 || dtype == PGY_I32;
}

static bool embedding_bag_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *table = &u->inputs[BAG_TABLE], *indices = &u->inputs[BAG_INDICES];
    const bag_rules rules = bag_rules_of(u->node);
    if (!is_index(indices->dtype) || (table->dtype != PGY_F32 && !half_is(table->dtype)))
        return false;
    *p = (params){.length = (uint64_t)table->shape[0],
                  .width = (uint64_t)table->shape[1],
                  .each = (uint64_t)indices->shape[indices->rank - 1],
                  .count = kernel_count(indices),
                  .level = u->self->needs,
                  .dtype = table->dtype,
                  .mode = rules.mode,
                  .empty_is_zero = rules.empty_is_zero,
                  .last_to_end = rules.last_to_end,
                  .wide = indices->dtype == PGY_I64,
                  .has_offsets = has_input(u, BAG_OFFSETS),
                  .has_weights = has_input(u, BAG_WEIGHTS),
                  .inputs = (uint32_t)u->input_count};
    if (!kernel_count(&u->outputs[0])) return false;
    p->bags = kernel_count(&u->outputs[0]) / p->width;
    if (p->has_offsets) {
        p->wide_offsets = u->inputs[BAG_OFFSETS].dtype == PGY_I64;
        p->each = 0;
        if (!is_index(u->inputs[BAG_OFFSETS].dtype)) return false;
    }
    return !p->has_weights || (u->inputs[BAG_WEIGHTS].dtype == table->dtype &&
                               kernel_count(&u->inputs[BAG_WEIGHTS]) == p->count);
}

static bool embedding_bag_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!embedding_bag_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns =
        100 + (double)p.bags * 10 + (double)p.count * (3 + (double)p.width * u->self->rates[0]);
    return true;
}

static pgy_status embedding_bag_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)embedding_bag_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    const uint64_t worth = p->count * p->width / PART_WORK + 1;
    const uint64_t most = p->bags < MAX_PARTS ? p->bags : MAX_PARTS;
    out->parts = (uint32_t)(worth < most ? worth : most);
    return PGY_OK;
}

static bool embedding_bag_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !extent_enum(e, p->mode, BAG_MODES, "mode"))
        return false;
    if (p->dtype != PGY_F32 && !half_is((pgy_dtype)p->dtype)) return extent_refuse(e, "type");
    if (p->inputs != q->input_count || p->inputs < BAG_OFFSETS || p->inputs > BAG_INPUTS ||
        (p->has_offsets && p->inputs <= BAG_OFFSETS) ||
        (p->has_weights && p->inputs <= BAG_WEIGHTS))
        return extent_refuse(e, "number of inputs");
    if (!p->bags || !p->width || p->count > INT64_MAX ||
        (!p->has_offsets && extent_mul(p->bags, p->each) != p->count))
        return extent_refuse(e, "sizes");
    extent_tensor(e, BAG_TABLE, extent_mul(p->length, p->width), item_bytes(p));
    extent_tensor(e, BAG_INDICES, p->count, p->wide ? sizeof(int64_t) : sizeof(int32_t));
    if (p->has_offsets)
        extent_tensor(e, BAG_OFFSETS, extent_add(p->bags, 1),
                      p->wide_offsets ? sizeof(int64_t) : sizeof(int32_t));
    if (p->has_weights) extent_tensor(e, BAG_WEIGHTS, p->count, item_bytes(p));
    extent_tensor(e, p->inputs, extent_mul(p->bags, p->width), item_bytes(p));
    e->indices = 1u << BAG_INDICES | (p->has_offsets ? 1u << BAG_OFFSETS : 0);
    return true;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static int64_t integer_at(const void *from, uint32_t wide, uint64_t i)
{
    return wide ? ((const int64_t *)from)[i] : ((const int32_t *)from)[i];
}

/* Where the row of index i is; NULL: there is none. */
static const char *row_at(const params *p, const kernel_run *r, uint64_t i)
{
    const int64_t given = integer_at(r->tensors[BAG_INDICES], p->wide, i);
    const uint64_t row = (uint64_t)given + (given < 0 ? p->length : 0);
    return row < p->length ? (const char *)r->tensors[BAG_TABLE] + row * p->width * item_bytes(p)
                           : NULL;
}

static void fetch_row(const params *p, const kernel_run *r, uint64_t i)
{
    const char *row = i < p->count ? row_at(p, r, i) : NULL;
    const uint64_t bytes = p->width * item_bytes(p);
    const uint64_t lines = (bytes + LINE_BYTES - 1) / LINE_BYTES;
    for (uint64_t line = 0; row && line < lines && line < MOST_LINES; line++)
        __builtin_prefetch(row + line * LINE_BYTES);
}

/* Finds the rows of the indices [first, first + count). False: one is out of range. */
static bool find_rows(const char **rows, const params *p, const kernel_run *r, uint64_t first,
                      size_t count)
{
    const bool fetches = p->length * p->width * item_bytes(p) > CACHED_BYTES;
    for (size_t k = 0; k < count; k++) {
        if (fetches) fetch_row(p, r, first + k + AHEAD);
        rows[k] = row_at(p, r, first + k);
        if (!rows[k]) {
            kernel_fault_index(r, integer_at(r->tensors[BAG_INDICES], p->wide, first + k),
                               p->length);
            return false;
        }
    }
    return true;
}

/* ---- Bags ----------------------------------------------------------------------------------- */

typedef void (*bag_loop)(float *y, const bag_rows *r);

static bag_range range_of(const params *p, const kernel_run *r, uint64_t bag)
{
    const bag_rules rules = {(bag_mode)p->mode, p->empty_is_zero != 0, p->last_to_end != 0};
    const int64_t each = (int64_t)p->each;
    if (!p->has_offsets)
        return (bag_range){.first = (int64_t)bag * each, .count = each, .divisor = each};
    const void *offsets = r->tensors[BAG_OFFSETS];
    return bag_between(rules, (int64_t)p->count, integer_at(offsets, p->wide_offsets, bag),
                       integer_at(offsets, p->wide_offsets, bag + 1), bag + 1 == p->bags);
}

/* The result of a bag without elements. */
static void fill(const params *p, const bag_range *b, float *y, size_t width)
{
    const float none = p->mode == BAG_MAX && !b->zero ? -INFINITY : 0;
    for (size_t i = 0; i < width; i++) y[i] = none;
}

static void finish(const params *p, const bag_range *b, float *y, size_t width)
{
    if (b->zero || !b->count) fill(p, b, y, width);
    if (p->mode != BAG_MEAN || b->zero) return;
    for (size_t i = 0; i < width; i++) y[i] /= (float)b->divisor;
}

static void run_floats(const params *p, const kernel_run *r, const bag_range *b, uint64_t bag,
                       bag_loop loop)
{
    float *y = (float *)r->tensors[p->inputs] + bag * p->width;
    const float *weights = p->has_weights ? r->tensors[BAG_WEIGHTS] : NULL;
    const char *found[ROWS];
    const float *rows[ROWS];
    for (int64_t k = 0; !b->zero && k < b->count && !cancel_requested(); k += ROWS) {
        const uint64_t first = (uint64_t)(b->first + k);
        const size_t count = b->count - k < ROWS ? (size_t)(b->count - k) : ROWS;
        if (!find_rows(found, p, r, first, count)) return;
        for (size_t i = 0; i < count; i++) rows[i] = (const float *)(const void *)found[i];
        loop(y, &(bag_rows){rows, weights ? weights + first : NULL, count, p->width, !k});
    }
    finish(p, b, y, p->width);
}

/* Combines the columns [from, from + width) of a bag in y. False: an index is out of range. */
static bool combine_halves(const params *p, const kernel_run *r, const bag_range *b, uint64_t from,
                           size_t width, float *y, bag_loop loop)
{
    const half_loops *half = half_loops_of((pgy_dtype)p->dtype, (cpu_level)p->level);
    const uint16_t *weights = p->has_weights ? r->tensors[BAG_WEIGHTS] : NULL;
    const char *found[ROWS];
    float wide[COLUMNS], factors[ROWS];
    const float *row = wide;
    for (int64_t k = 0; !b->zero && k < b->count && !cancel_requested(); k += ROWS) {
        const uint64_t first = (uint64_t)(b->first + k);
        const size_t count = b->count - k < ROWS ? (size_t)(b->count - k) : ROWS;
        if (!find_rows(found, p, r, first, count)) return false;
        if (weights) half->widen(factors, weights + first, count);
        for (size_t i = 0; i < count; i++) {
            half->widen(wide, (const uint16_t *)(const void *)found[i] + from, width);
            loop(y, &(bag_rows){&row, weights ? factors + i : NULL, 1, width, !k && !i});
        }
    }
    finish(p, b, y, width);
    return true;
}

static void run_halves(const params *p, const kernel_run *r, const bag_range *b, uint64_t bag,
                       bag_loop loop)
{
    const half_loops *half = half_loops_of((pgy_dtype)p->dtype, (cpu_level)p->level);
    uint16_t *to = (uint16_t *)r->tensors[p->inputs] + bag * p->width;
    float y[COLUMNS];
    for (uint64_t from = 0; from < p->width; from += COLUMNS) {
        const size_t width = p->width - from < COLUMNS ? p->width - from : COLUMNS;
        if (!combine_halves(p, r, b, from, width, y, loop)) return;
        half->narrow(to + from, y, width);
    }
}

static void embedding_bag_run(const kernel_run *r)
{
    const params *p = r->params;
    const bag_loops *loops = bag_loops_of(p->level);
    const bag_loop loop = p->mode == BAG_MAX ? loops->most : loops->add;
    size_t from, to;
    kernel_share(&from, &to, p->bags, r->part, r->parts);
    for (size_t bag = from; bag < to && !cancel_requested(); bag++) {
        const bag_range b = range_of(p, r, bag);
        if (p->dtype == PGY_F32)
            run_floats(p, r, &b, bag, loop);
        else
            run_halves(p, r, &b, bag, loop);
    }
}

#define ROW(suffix, level, each)                                                                   \
    {                                                                                              \
        .name = "embedding_bag_" #suffix, .version = 1, .ops = "pgy:EmbeddingBag", .needs = level, \
        .rates = {each}, .flags = KERNEL_TAKES_HALF | KERNEL_SHARES_WEIGHTS,                       \
        .accept = embedding_bag_accept, .prepare = embedding_bag_prepare,                          \
        .run = embedding_bag_run, .extent = embedding_bag_extent                                   \
    }
const kernel KERNELS_embedding_bag[] = {
    ROW(portable, CPU_PORTABLE, 0.25),
    ROW(avx2, CPU_AVX2, 0.1),
    ROW(avx512, CPU_AVX512, 0.08),
    {0},
};

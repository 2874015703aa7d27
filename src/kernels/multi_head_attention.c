/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MultiHeadAttention and ProjectedAttention of pgy in float32. The first phase adds
 * the bias to the queries, and gathers the past and the new keys and values of each head, in the
 * outputs for the caches if the node has them, else in the workspace; it turns the padding mask
 * into numbers. Then a unit is some query rows of one head. If a head is one unit, that unit
 * gathers what it reads, which is in the cache then. */
#include "kernels/multi_head_attention.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"

typedef heads_params params;
typedef heads_source source;
enum { PARTS = 256 };

/* ---- The problem ---------------------------------------------------------------------------- */

static const kernel_tensor *given(const kernel_problem *u, size_t i)
{
    return i < u->input_count && u->inputs[i].dtype ? &u->inputs[i] : NULL;
}

static bool is_float(const kernel_tensor *t, int32_t rank)
{
    return t->dtype == PGY_F32 && t->rank == rank;
}

/* Part `index` of `count` that input `input` holds. */
static bool read_source(source *s, const kernel_problem *u, uint64_t heads, uint32_t input,
                        uint64_t index, uint64_t count)
{
    const kernel_tensor *t = &u->inputs[input];
    const int64_t *d = t->shape;
    *s = (source){.input = input};
    if (t->dtype != PGY_F32 || !kernel_count(t)) return false;
    if (t->rank == 4 && input != HEADS_QUERY && count == 1) {
        s->length = (uint64_t)d[2];
        s->size = s->row = (uint64_t)d[3];
        s->head = s->length * s->size;
        s->batch = s->head * heads;
        return (uint64_t)d[1] == heads;
    }
    if (t->rank != (count > 1 ? 5 : 3)) return false;
    if (count > 1 && ((uint64_t)d[2] != heads || (uint64_t)d[3] != count)) return false;
    if (count == 1 && (uint64_t)d[2] % heads) return false;
    s->length = (uint64_t)d[1];
    s->size = count > 1 ? (uint64_t)d[4] : (uint64_t)d[2] / heads;
    s->first = index * s->size;
    s->head = count * s->size;
    s->row = heads * s->head;
    s->batch = s->length * s->row;
    return true;
}

static bool read_sources(params *p, const kernel_problem *u)
{
    const bool key = given(u, HEADS_KEY), value = given(u, HEADS_VALUE);
    const kernel_tensor *bias = given(u, HEADS_BIAS);
    if (value && !key) return false;
    for (uint32_t i = 0; i < 3; i++) {
        const bool of_three = !key, of_two = key && !value && i > 0;
        const uint32_t input = of_three ? HEADS_QUERY : of_two ? HEADS_KEY : i;
        const uint64_t index = of_three ? i : of_two ? i - 1 : 0;
        if (!read_source(&p->of[i], u, p->heads, input, index, of_three ? 3 : 1 + of_two))
            return false;
        const kernel_tensor *t = &u->inputs[p->of[i].input];
        if ((uint64_t)t->shape[0] != p->batch) return false;
        if (bias && t->rank != 4) p->of[i].bias = p->bias_count + 1;
        p->bias_count += p->heads * p->of[i].size;
    }
    if (bias && (!is_float(bias, 1) || kernel_count(bias) < p->bias_count)) return false;
    if (!bias) p->bias_count = 0;
    return p->of[1].size == p->of[0].size && p->of[1].length == p->of[2].length;
}

/* Query, key and value side by side. */
static bool read_projected(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[HEADS_QUERY];
    size_t count;
    const int64_t *widths = op_attr_ints(u->node, "qkv_hidden_sizes", &count);
    if (!is_float(x, 3) || !kernel_count(x)) return false;
    const uint64_t columns = (uint64_t)x->shape[2], rows = (uint64_t)x->shape[1];
    uint64_t first = 0;
    for (size_t i = 0; i < 3; i++) {
        const uint64_t width = count == 3 ? (uint64_t)widths[i] : columns / 3;
        if (!width || width % p->heads || width > columns) return false;
        const uint64_t size = width / p->heads;
        p->of[i] = (source){rows, size, first, rows * columns, size, columns, 0, HEADS_QUERY, 0};
        first += width;
    }
    return first == columns && p->of[0].size == p->of[1].size;
}

/* The number of cached rows; false: this is no cache of keys (0) or values (1). */
static bool read_past(uint64_t *rows, const params *p, const kernel_tensor *t, uint32_t which)
{
    const int64_t *d = t->shape;
    if (!is_float(t, p->projected ? 5 : 4) || (p->projected && *d++ != 2)) return false;
    *rows = (uint64_t)d[2];
    return (uint64_t)d[0] == p->batch && (uint64_t)d[1] == p->heads &&
           (uint64_t)d[3] == p->of[1 + which].size;
}

static bool read_caches(params *p, const kernel_problem *u)
{
    const uint32_t step = !p->projected; /* from the tensor of keys to that of values */
    uint64_t rows[2] = {0};
    for (uint32_t i = 0; i < 2; i++) {
        const kernel_tensor *past = given(u, heads_operand(p, HEADS_PAST_K + i));
        const uint32_t present = 1 + i * step;
        if (past && !read_past(&rows[i], p, past, i)) return false;
        if (u->output_count > present && u->outputs[present].dtype) {
            if (u->outputs[present].dtype != PGY_F32) return false;
            p->present |= 1U << i;
        }
    }
    p->past = rows[0];
    return rows[0] == rows[1] &&
           !given(u, heads_operand(p, HEADS_PAST_K)) == !given(u, heads_operand(p, HEADS_PAST_V)) &&
           (!p->projected || !(p->past || p->present) || p->of[1].size == p->of[2].size);
}

/* Flags [batch, keys], [batch, rows, keys] or, for a maximum length, [batch, 1, most, most]. */
static bool read_flags(params *p, const kernel_tensor *mask)
{
    const uint64_t keys = heads_keys(p), rows = p->of[0].length;
    const int64_t *d = mask->shape;
    const uint64_t last = (uint64_t)d[mask->rank - 1];
    p->mask = HEADS_FLAGS;
    p->mask_rows = mask->rank > 2 ? rows : 1;
    p->mask_row = mask->rank > 2 ? last : 0;
    p->mask_batch = mask->rank > 2 ? last * (uint64_t)d[mask->rank - 2] : last;
    if (mask->rank == 4) p->mask_first = p->past * last;
    if ((uint64_t)d[0] != p->batch) return false;
    if (mask->rank == 4)
        return p->projected && d[1] == 1 && d[2] == d[3] && last >= keys && p->past + rows <= last;
    return last == keys && (mask->rank == 2 || (uint64_t)d[1] == rows);
}

static bool read_masks(params *p, const kernel_problem *u)
{
    const kernel_tensor *mask = given(u, heads_operand(p, HEADS_PADDING)),
                        *added = given(u, heads_operand(p, HEADS_SCORES));
    if (mask) {
        const uint64_t count = kernel_count(mask);
        if (mask->dtype != PGY_I32 || mask->rank < 1 || mask->rank > 4) return false;
        p->mask_rows = 1;
        p->mask = count == 2 * p->batch ? HEADS_STARTS : HEADS_ENDS;
        if (mask->rank > 1 && !read_flags(p, mask)) return false;
        if (p->mask == HEADS_ENDS && count != p->batch && count != 3 * p->batch + 2) return false;
    }
    if (!added) return true;
    if (!is_float(added, 4) || (uint64_t)added->shape[2] != p->of[0].length ||
        (uint64_t)added->shape[3] != heads_keys(p))
        return false;
    p->bias_batch = (uint64_t)added->shape[0];
    p->bias_heads = (uint64_t)added->shape[1];
    return (p->bias_batch == 1 || p->bias_batch == p->batch) &&
           (p->bias_heads == 1 || p->bias_heads == p->heads);
}

static bool heads_describe(params *p, const kernel_problem *u)
{
    const int64_t heads = op_attr_int(u->node, "num_heads", 0);
    *p = (params){.level = u->self->needs, .inputs = (uint32_t)u->input_count};
    p->projected = !strcmp(u->node->def->domain, "pgy");
    if (heads < 1 || heads > INT32_MAX || u->outputs[0].dtype != PGY_F32 ||
        u->inputs[HEADS_QUERY].rank < 1 ||
        (!p->projected && (given(u, HEADS_PAST_LENGTH) || given(u, HEADS_BEAMS) ||
                           (u->output_count > 3 && u->outputs[3].dtype))))
        return false;
    p->heads = (uint64_t)heads;
    p->batch = (uint64_t)u->inputs[HEADS_QUERY].shape[0];
    p->causal = op_attr_int(u->node, "unidirectional", 0) != 0;
    p->filter = (float)op_attr_float(u->node, "mask_filter_value", -10000);
    if (!(p->projected ? read_projected(p, u) : read_sources(p, u)) || !read_caches(p, u) ||
        !read_masks(p, u))
        return false;
    p->scale = (float)op_attr_float(u->node, "scale", 0);
    if (p->scale == 0) p->scale = (float)(1 / sqrt((double)p->of[0].size));
    return true;
}

static bool heads_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!heads_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    const double keys = (double)(p.batch * p.heads) * (double)heads_keys(&p);
    const double size = (double)(p.of[0].size + p.of[2].size);
    *cost_ns = 500 + keys * ((double)p.of[0].length * (2 * size + 40) / u->self->rates[0] + size);
    return true;
}

static pgy_status heads_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    uint64_t places[HEADS_PLACES];
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)heads_describe(p, u); /* cannot fail after `accept` */
    heads_places(places, p);
    const uint64_t units = p->batch * p->heads * (heads_row_units(p) > 3 ? heads_row_units(p) : 3);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .in_place = -1};
    out->phases = heads_phases(p);
    out->parts = (uint32_t)(units < PARTS ? units : PARTS);
    out->workspace_bytes = places[4] * sizeof(float);
    out->scratch_bytes = attention_rows_scratch(p->of[0].size, p->of[2].size) * sizeof(float);
    return PGY_OK;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Where the queries (i = 0), keys or values of all heads are gathered. */
static float *heads_gathered(const params *p, const kernel_run *r, size_t i)
{
    uint64_t places[HEADS_PLACES];
    heads_places(places, p);
    if (!i || !(p->present >> (i - 1) & 1)) return (float *)r->workspace + places[i];
    if (!p->projected) return r->tensors[p->inputs + i];
    return (float *)r->tensors[p->inputs + 1] +
           (i - 1) * p->batch * p->heads * heads_keys(p) * p->of[1].size;
}

/* The cached rows of all heads, of keys (i = 1) or values. */
static const float *heads_past(const params *p, const kernel_run *r, size_t i)
{
    const uint64_t before = p->projected && i == 2;
    return (const float *)r->tensors[heads_operand(p, HEADS_PAST_K + (uint32_t)i - 1)] +
           before * p->batch * p->heads * p->past * p->of[1].size;
}

static void heads_gather(const params *p, const kernel_run *r, uint64_t index)
{
    const uint64_t i = index % 3, b = index / 3 / p->heads, h = index / 3 % p->heads;
    const source *s = &p->of[i];
    const uint64_t past = i ? p->past : 0;
    const float *x = (const float *)r->tensors[s->input] + s->first + b * s->batch + h * s->head;
    const float *bias =
        s->bias ? (const float *)r->tensors[HEADS_BIAS] + s->bias - 1 + h * s->size : NULL;
    const float scale = i ? 1 : p->scale;
    float *y = heads_gathered(p, r, i) + index / 3 * (past + s->length) * s->size;
    if (past)
        memcpy(y, heads_past(p, r, i) + index / 3 * past * s->size, past * s->size * sizeof *y);
    y += past * s->size;
    for (uint64_t row = 0; row < s->length; row++, y += s->size) {
        const float *from = x + row * s->row;
        if (i && !bias)
            memcpy(y, from, s->size * sizeof *y);
        else
            for (uint64_t d = 0; d < s->size; d++)
                y[d] = (bias ? from[d] + bias[d] : from[d]) * scale;
    }
}

/* Writes what row `row` of the padding mask adds to scores. */
static void heads_mask(const params *p, const kernel_run *r, uint64_t row)
{
    uint64_t places[HEADS_PLACES];
    heads_places(places, p);
    const uint64_t keys = heads_keys(p), b = row / p->mask_rows;
    const int32_t *mask = r->tensors[heads_operand(p, HEADS_PADDING)];
    const uint64_t first = p->mask_first + b * p->mask_batch + row % p->mask_rows * p->mask_row;
    const int32_t *flags = p->mask == HEADS_FLAGS ? mask + first : mask;
    float *y = (float *)r->workspace + places[3] + row * keys;
    for (uint64_t j = 0; j < keys; j++) {
        const bool closed = p->mask == HEADS_FLAGS
                                ? flags[j] == 0
                                : (int64_t)j >= mask[b] ||
                                      (p->mask == HEADS_STARTS && (int64_t)j < mask[p->batch + b]);
        y[j] = closed ? p->filter : 0;
    }
}

static void heads_unit(const params *p, const kernel_run *r, uint64_t index)
{
    uint64_t places[HEADS_PLACES];
    heads_places(places, p);
    const uint64_t across = heads_row_units(p), head = index / across, keys = heads_keys(p);
    const uint64_t b = head / p->heads, h = head % p->heads,
                   first = index % across * ATTENTION_ROWS;
    const uint64_t rows = p->of[0].length, size = p->of[0].size, v_size = p->of[2].size;
    attention_rows a = {.level = (cpu_level)p->level,
                        .rows = rows - first < ATTENTION_ROWS ? rows - first : ATTENTION_ROWS,
                        .size = size,
                        .v_size = v_size,
                        .q = heads_gathered(p, r, 0) + (head * rows + first) * size,
                        .keys = heads_gathered(p, r, 1) + head * keys * size,
                        .values = heads_gathered(p, r, 2) + head * keys * v_size,
                        .key_step = size,
                        .value_step = v_size};
    for (uint64_t i = 0; i < a.rows; i++) {
        attention_row *row = &a.row[i];
        const uint64_t at = first + i, seen = p->past + at + 1;
        row->to = p->causal && seen < keys ? seen : keys;
        row->y = (float *)r->tensors[p->inputs] + ((b * rows + at) * p->heads + h) * v_size;
        if (p->mask)
            row->mask = (const float *)r->workspace + places[3] +
                        (b * p->mask_rows + (p->mask_rows > 1 ? at : 0)) * keys;
        if (p->bias_batch)
            row->bias =
                (const float *)r->tensors[heads_operand(p, HEADS_SCORES)] +
                (((p->bias_batch > 1 ? b : 0) * p->bias_heads + (p->bias_heads > 1 ? h : 0)) *
                     rows +
                 at) *
                    keys;
    }
    attention_rows_run(&a, r->scratch);
}

static void heads_run(const kernel_run *r)
{
    const params *p = r->params;
    const bool alone = heads_alone(p), units = r->phase + 1 == heads_phases(p);
    const uint64_t heads = p->batch * p->heads, gathered = alone ? 0 : 3 * heads;
    const uint64_t masks = p->mask ? p->batch * p->mask_rows : 0;
    const uint64_t count = units ? heads * heads_row_units(p) : gathered + masks;
    size_t from, to;
    kernel_share(&from, &to, count, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        for (size_t k = 0; units && alone && k < 3; k++) heads_gather(p, r, 3 * i + k);
        if (units)
            heads_unit(p, r, i);
        else if (i < gathered)
            heads_gather(p, r, i);
        else
            heads_mask(p, r, i - gathered);
    }
}

#define ROW(suffix, level, flops_per_ns)                                                  \
    {                                                                                     \
        .name = "multi_head_attention_f32_" #suffix, .version = 2,                        \
        .ops = "com.microsoft:MultiHeadAttention pgy:ProjectedAttention", .needs = level, \
        .rates = {flops_per_ns}, .accept = heads_accept, .prepare = heads_prepare,        \
        .run = heads_run, .extent = heads_extent                                          \
    }
const kernel KERNELS_multi_head_attention[] = {
    ROW(portable, CPU_PORTABLE, 6),
    ROW(avx2, CPU_AVX2, 25),
    ROW(avx512, CPU_AVX512, 40),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MultiHeadAttention in float32. Phase 0 adds the bias to the queries, and gathers
 * the past and the new keys and values of each head, in the outputs for the caches if the node has
 * them, else in the workspace; it turns the padding mask into numbers. In phase 1, a unit is some
 * query rows of one head. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/attention_rows.h"
#include "kernels/extent.h"

enum { QUERY, KEY, VALUE, BIAS, PADDING, SCORES, PAST_K, PAST_V, PAST_LENGTH, BEAMS };
enum { PARTS = 256 };
/* What the padding mask holds: numbers of keys, ends and then starts of keys, or flags. */
typedef enum mask_kind { NO_MASK, MASK_ENDS, MASK_STARTS, MASK_FLAGS } mask_kind;

/* Where queries, keys or values are: strides along batch, head and row. */
typedef struct source {
    uint64_t length, size;            /* rows and elements of a head */
    uint64_t first, batch, head, row; /* first: element of the input at which the part begins */
    uint64_t bias;                    /* 1 + the part's first element in the bias; 0: none */
    uint32_t input, unused;
} source;

typedef struct params {
    uint64_t batch, heads, past;
    source of[3];
    uint64_t mask_rows, mask_count;              /* rows of flags per batch entry; elements */
    uint64_t bias_batch, bias_heads, bias_count; /* of what is added to scores; elements of BIAS */
    uint32_t level, inputs, mask, causal;
    uint32_t present; /* bit 0: keys are an output, bit 1: values are */
    uint32_t unused;
    float scale, filter;
} params;

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
    if (t->rank == 4 && input != QUERY && count == 1) {
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
    const bool key = given(u, KEY), value = given(u, VALUE);
    const kernel_tensor *bias = given(u, BIAS);
    if (value && !key) return false;
    for (uint32_t i = 0; i < 3; i++) {
        const bool of_three = !key, of_two = key && !value && i > 0;
        const uint32_t input = of_three ? QUERY : of_two ? KEY : i;
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

static bool read_caches(params *p, const kernel_problem *u)
{
    const kernel_tensor *past[2] = {given(u, PAST_K), given(u, PAST_V)};
    if (!past[0] != !past[1]) return false;
    for (uint32_t i = 0; i < 2; i++) {
        if (past[i] &&
            (!is_float(past[i], 4) || (uint64_t)past[i]->shape[0] != p->batch ||
             (uint64_t)past[i]->shape[1] != p->heads || past[i]->shape[2] != past[0]->shape[2] ||
             (uint64_t)past[i]->shape[3] != p->of[1 + i].size))
            return false;
        if (u->output_count > 1 + i && u->outputs[1 + i].dtype) {
            if (u->outputs[1 + i].dtype != PGY_F32) return false;
            p->present |= 1U << i;
        }
    }
    if (past[0]) p->past = (uint64_t)past[0]->shape[2];
    return true;
}

static uint64_t keys_of(const params *p)
{
    return p->past + p->of[1].length;
}

static bool read_masks(params *p, const kernel_problem *u)
{
    const kernel_tensor *mask = given(u, PADDING), *added = given(u, SCORES);
    const uint64_t keys = keys_of(p), rows = p->of[0].length;
    if (mask) {
        if (mask->dtype != PGY_I32 || mask->rank < 1 || mask->rank > 3) return false;
        p->mask_count = kernel_count(mask);
        p->mask_rows = mask->rank == 3 ? rows : 1;
        const uint64_t flags = p->batch * p->mask_rows * keys;
        p->mask = mask->rank > 1                  ? MASK_FLAGS
                  : p->mask_count == 2 * p->batch ? MASK_STARTS
                                                  : MASK_ENDS;
        if (p->mask == MASK_ENDS && p->mask_count != p->batch && p->mask_count != 3 * p->batch + 2)
            return false;
        if (p->mask == MASK_FLAGS &&
            (p->mask_count != flags || (uint64_t)mask->shape[mask->rank - 1] != keys ||
             (uint64_t)mask->shape[0] != p->batch))
            return false;
    }
    if (!added) return true;
    if (!is_float(added, 4) || (uint64_t)added->shape[2] != rows ||
        (uint64_t)added->shape[3] != keys)
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
    if (heads < 1 || heads > INT32_MAX || given(u, PAST_LENGTH) || given(u, BEAMS) ||
        (u->output_count > 3 && u->outputs[3].dtype) || u->outputs[0].dtype != PGY_F32 ||
        u->inputs[QUERY].rank < 1)
        return false;
    p->heads = (uint64_t)heads;
    p->batch = (uint64_t)u->inputs[QUERY].shape[0];
    p->causal = op_attr_int(u->node, "unidirectional", 0) != 0;
    p->filter = (float)op_attr_float(u->node, "mask_filter_value", -10000);
    if (!read_sources(p, u) || !read_caches(p, u) || !read_masks(p, u)) return false;
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
    const double keys = (double)(p.batch * p.heads) * (double)keys_of(&p);
    const double size = (double)(p.of[0].size + p.of[2].size);
    *cost_ns = 500 + keys * ((double)p.of[0].length * (2 * size + 40) / u->self->rates[0] + size);
    return true;
}

/* ---- Memory --------------------------------------------------------------------------------- */

/* Floats of the workspace in front of the queries, keys, values and numbers of the mask, and of all
 * of it. */
static void heads_places(uint64_t *places, const params *p)
{
    const uint64_t heads = extent_mul(p->batch, p->heads),
                   keys = extent_add(p->past, p->of[1].length);
    uint64_t at = 0;
    for (size_t i = 0; i < 3; i++) {
        places[i] = at;
        if (i == 0)
            at = extent_mul3(heads, p->of[0].length, p->of[0].size);
        else if (!(p->present >> (i - 1) & 1))
            at = extent_add(at, extent_mul3(heads, keys, p->of[i].size));
    }
    places[3] = at;
    if (p->mask) at = extent_add(at, extent_mul3(p->batch, p->mask_rows, keys));
    places[4] = at;
}

static uint64_t heads_row_units(const params *p)
{
    return (p->of[0].length + ATTENTION_ROWS - 1) / ATTENTION_ROWS;
}

static pgy_status heads_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    uint64_t places[5];
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)heads_describe(p, u); /* cannot fail after `accept` */
    heads_places(places, p);
    const uint64_t units = p->batch * p->heads * (heads_row_units(p) > 3 ? heads_row_units(p) : 3);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 2, .in_place = -1};
    out->parts = (uint32_t)(units < PARTS ? units : PARTS);
    out->workspace_bytes = places[4] * sizeof(float);
    out->scratch_bytes = attention_rows_scratch(p->of[2].size) * sizeof(float);
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool state_source(kernel_extent *e, const params *p, size_t i)
{
    const source *s = &p->of[i];
    const uint64_t sizes[] = {p->batch, p->heads, s->length, s->size};
    const uint64_t steps[] = {s->batch, s->head, s->row, 1};
    if (!s->length || !s->size || s->input > VALUE || s->input >= p->inputs) return false;
    extent_tensor(e, s->input, extent_add(s->first, extent_reach(sizes, steps, 4)), sizeof(float));
    if (!s->bias) return true;
    extent_tensor(e, BIAS, extent_add(s->bias - 1, extent_mul(p->heads, s->size)), sizeof(float));
    return p->inputs > BIAS;
}

static bool state_masks(kernel_extent *e, const params *p, uint64_t keys)
{
    const uint64_t rows = p->of[0].length, flags = extent_mul3(p->batch, p->mask_rows, keys);
    if (p->mask) {
        const uint64_t least = extent_mul(p->batch, p->mask == MASK_STARTS ? 2 : 1);
        if (p->mask > MASK_FLAGS || p->inputs <= PADDING ||
            (p->mask_rows != 1 && (p->mask_rows != rows || p->mask != MASK_FLAGS)))
            return false;
        extent_tensor(e, PADDING, p->mask == MASK_FLAGS ? flags : least, sizeof(int32_t));
    }
    if (!p->bias_batch) return true;
    extent_tensor(e, SCORES, extent_mul(extent_mul3(p->bias_batch, p->bias_heads, rows), keys),
                  sizeof(float));
    return p->inputs > SCORES && (p->bias_batch == 1 || p->bias_batch == p->batch) &&
           (p->bias_heads == 1 || p->bias_heads == p->heads);
}

static bool heads_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    uint64_t places[5];
    if (!p || !extent_level(e, p->level)) return false;
    const uint64_t keys = extent_add(p->past, p->of[1].length);
    const uint64_t heads = extent_mul(p->batch, p->heads);
    if (p->inputs != q->input_count || (p->past && p->inputs <= PAST_V) || p->present > 3)
        return extent_refuse(e, "number of operands");
    if (!p->batch || !p->heads || keys > INT32_MAX || p->of[1].size != p->of[0].size ||
        p->of[1].length != p->of[2].length)
        return extent_refuse(e, "sizes");
    for (size_t i = 0; i < 3; i++)
        if (!state_source(e, p, i)) return extent_refuse(e, "query, key or value");
    if (!state_masks(e, p, keys)) return extent_refuse(e, "mask");
    for (uint32_t i = 0; i < 2; i++) {
        const uint64_t size = p->of[1 + i].size;
        extent_tensor(e, PAST_K + i, extent_mul3(heads, p->past, size), sizeof(float));
        if (p->present >> i & 1)
            extent_tensor(e, p->inputs + 1 + i, extent_mul3(heads, keys, size), sizeof(float));
    }
    extent_tensor(e, p->inputs, extent_mul3(heads, p->of[0].length, p->of[2].size), sizeof(float));
    heads_places(places, p);
    e->phases = 2;
    e->workspace = extent_mul(places[4], sizeof(float));
    e->scratch = extent_mul(attention_rows_scratch(p->of[2].size), sizeof(float));
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Where the queries (i = 0), keys or values of all heads are gathered. */
static float *heads_gathered(const params *p, const kernel_run *r, size_t i)
{
    uint64_t places[5];
    heads_places(places, p);
    return i && p->present >> (i - 1) & 1 ? (float *)r->tensors[p->inputs + i]
                                          : (float *)r->workspace + places[i];
}

static void heads_gather(const params *p, const kernel_run *r, uint64_t index)
{
    const uint64_t i = index % 3, b = index / 3 / p->heads, h = index / 3 % p->heads;
    const source *s = &p->of[i];
    const uint64_t past = i ? p->past : 0;
    const float *x = (const float *)r->tensors[s->input] + s->first + b * s->batch + h * s->head;
    const float *bias =
        s->bias ? (const float *)r->tensors[BIAS] + s->bias - 1 + h * s->size : NULL;
    const float scale = i ? 1 : p->scale;
    float *y = heads_gathered(p, r, i) + index / 3 * (past + s->length) * s->size;
    if (past)
        memcpy(y, (const float *)r->tensors[PAST_K + i - 1] + index / 3 * past * s->size,
               past * s->size * sizeof *y);
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
    uint64_t places[5];
    heads_places(places, p);
    const uint64_t keys = keys_of(p), b = row / p->mask_rows;
    const int32_t *mask = r->tensors[PADDING];
    float *y = (float *)r->workspace + places[3] + row * keys;
    for (uint64_t j = 0; j < keys; j++) {
        const bool closed = p->mask == MASK_FLAGS
                                ? mask[row * keys + j] == 0
                                : (int64_t)j >= mask[b] ||
                                      (p->mask == MASK_STARTS && (int64_t)j < mask[p->batch + b]);
        y[j] = closed ? p->filter : 0;
    }
}

static void heads_unit(const params *p, const kernel_run *r, uint64_t index)
{
    uint64_t places[5];
    heads_places(places, p);
    const uint64_t across = heads_row_units(p), head = index / across, keys = keys_of(p);
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
                (const float *)r->tensors[SCORES] +
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
    const uint64_t heads = p->batch * p->heads;
    const uint64_t count =
        r->phase ? heads * heads_row_units(p) : 3 * heads + (p->mask ? p->batch * p->mask_rows : 0);
    size_t from, to;
    kernel_share(&from, &to, count, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++)
        if (r->phase)
            heads_unit(p, r, i);
        else if (i < 3 * heads)
            heads_gather(p, r, i);
        else
            heads_mask(p, r, i - 3 * heads);
}

#define ROW(suffix, level, flops_per_ns)                                                           \
    {                                                                                              \
        .name = "multi_head_attention_f32_" #suffix, .version = 1,                                 \
        .ops = "com.microsoft:MultiHeadAttention", .needs = level, .rates = {flops_per_ns},        \
        .accept = heads_accept, .prepare = heads_prepare, .run = heads_run, .extent = heads_extent \
    }
const kernel KERNELS_multi_head_attention[] = {
    ROW(portable, CPU_PORTABLE, 6),
    ROW(avx2, CPU_AVX2, 25),
    ROW(avx512, CPU_AVX512, 40),
    {0},
};

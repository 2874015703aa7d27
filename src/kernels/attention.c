/* SPDX-License-Identifier: Apache-2.0 */
/* Attention in float32 without a key-value cache. Phase 0 packs keys and values of every head. In
 * phase 1, a unit is some query rows of one head. It goes through blocks of keys: it computes
 * scores, their exponentials relative to the largest score so far, and the weighted sum of values,
 * and rescales that sum when a larger score appears. A block is small enough that its scores stay
 * in the cache. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/matmul.h"
#include "kernels/vec_math.h"

enum { Q, K, V, MASK, OPERANDS };
enum { UNIT_ROWS = 48, BLOCK_KEYS = 512, MOST_FLOATS = 1 << 28 };
typedef enum mask_kind { NO_MASK, MASK_FLOATS, MASK_BOOLS } mask_kind;

/* Strides of an operand along batch, head and row; the elements of a row are contiguous. */
typedef struct strides {
    uint64_t batch, head, row;
} strides;

typedef struct params {
    uint32_t level, inputs, causal, mask;
    uint64_t batch, heads, kv_heads, rows, keys, size, v_size;
    strides q, k, v, y;
    /* Strides of the mask; m_keys is the number of keys that it covers. */
    uint64_t m_batch, m_head, m_row, m_key, m_keys;
    /* Floats of one head's packed keys and values; v_padded: floats of one row of packed values. */
    uint64_t packed_keys, packed_values, v_padded;
    float scale, cap;
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

static strides read_strides(const kernel_tensor *t, uint64_t heads)
{
    if (t->rank == 4) {
        const uint64_t row = (uint64_t)t->shape[3], head = row * (uint64_t)t->shape[2];
        return (strides){.batch = head * heads, .head = head, .row = row};
    }
    const uint64_t row = (uint64_t)t->shape[2];
    return (strides){.batch = row * (uint64_t)t->shape[1], .head = row / heads, .row = row};
}

static uint64_t read_heads(const kernel_tensor *t, const op_node *n, const char *name)
{
    const int64_t given = t->rank == 4 ? t->shape[1] : op_attr_int(n, name, 0);
    return given > 0 ? (uint64_t)given : 0;
}

static bool read_mask(params *p, const kernel_problem *u)
{
    const kernel_tensor *t = &u->inputs[MASK];
    uint64_t *const strides_of[] = {&p->m_batch, &p->m_head, &p->m_row, &p->m_key};
    uint64_t stride = 1;
    p->m_keys = p->keys;
    if (u->input_count <= MASK || !t->dtype) return true;
    if ((t->dtype != PGY_F32 && t->dtype != PGY_BOOL) || t->rank < 1 || t->rank > 4) return false;
    for (int32_t behind = 1; behind <= t->rank; behind++) {
        const uint64_t size = (uint64_t)t->shape[t->rank - behind];
        *strides_of[4 - behind] = size == 1 ? 0 : stride;
        stride *= size;
    }
    p->mask = t->dtype == PGY_BOOL ? MASK_BOOLS : MASK_FLOATS;
    p->m_keys = (uint64_t)t->shape[t->rank - 1];
    return true;
}

static bool is_plain(const kernel_problem *u)
{
    for (size_t i = 0; i < u->input_count; i++)
        if ((i < MASK && u->inputs[i].dtype != PGY_F32) || (i > MASK && u->inputs[i].dtype))
            return false;
    for (size_t i = 1; i < u->output_count; i++)
        if (u->outputs[i].dtype) return false;
    const int64_t precision = op_attr_int(u->node, "softmax_precision", 1);
    return u->input_count > V && u->outputs[0].dtype == PGY_F32 && precision == 1 &&
           op_attr_int(u->node, "left_window_size", -1) < 0 &&
           op_attr_int(u->node, "right_window_size", -1) < 0;
}

static bool attention_describe(params *p, const kernel_problem *u, cpu_level level)
{
    const kernel_tensor *q = &u->inputs[Q], *k = &u->inputs[K], *v = &u->inputs[V];
    const uint64_t columns = matmul_tile_of(level)->columns;
    *p = (params){.level = level, .inputs = (uint32_t)u->input_count};
    if (!is_plain(u) || q->rank < 3 || q->rank > 4 || k->rank != q->rank || v->rank != q->rank)
        return false;
    p->heads = read_heads(q, u->node, "q_num_heads");
    p->kv_heads = read_heads(k, u->node, "kv_num_heads");
    if (!p->heads || !p->kv_heads || !kernel_count(q) || !kernel_count(k) || !kernel_count(v))
        return false;
    p->q = read_strides(q, p->heads);
    p->k = read_strides(k, p->kv_heads);
    p->v = read_strides(v, p->kv_heads);
    p->y = read_strides(&u->outputs[0], p->heads);
    p->batch = (uint64_t)q->shape[0];
    p->rows = (uint64_t)q->shape[q->rank - 2];
    p->keys = (uint64_t)k->shape[k->rank - 2];
    p->size = q->rank == 4 ? p->q.row : p->q.head;
    p->v_size = v->rank == 4 ? p->v.row : p->v.head;
    if (!p->size || !p->v_size) return false; /* more heads than numbers in a row */
    p->v_padded = (p->v_size + columns - 1) / columns * columns;
    p->packed_keys = (p->keys + columns - 1) / columns * columns * p->size;
    p->packed_values = p->v_padded * p->keys;
    p->causal = op_attr_int(u->node, "is_causal", 0) != 0;
    p->cap = (float)op_attr_float(u->node, "softcap", 0);
    p->scale = (float)op_attr_float(u->node, "scale", 1 / sqrt((double)p->size));
    if (p->batch * p->kv_heads > MOST_FLOATS / (p->packed_keys + p->packed_values)) return false;
    return read_mask(p, u);
}

static bool attention_accept(kernel_problem *u, double *cost_ns)
{
    const cpu_level level = u->self->needs;
    const double flops_per_ns = u->self->rates[0];
    params p;
    if (!attention_describe(&p, u, level)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    const double scores = (double)(p.batch * p.heads * p.rows) * (double)p.keys;
    *cost_ns = 2 * scores * (double)(p.size + p.v_padded) / flops_per_ns +
               scores * 40 / flops_per_ns + (double)(kernel_count(&u->inputs[K]) * 2) * 0.5;
    return true;
}

static uint64_t attention_row_units(const params *p)
{
    return (p->rows + UNIT_ROWS - 1) / UNIT_ROWS;
}

static uint64_t block_width(const params *p)
{
    const uint64_t columns = matmul_tile_of((cpu_level)p->level)->columns;
    return p->keys < BLOCK_KEYS ? (p->keys + columns - 1) / columns * columns : BLOCK_KEYS;
}

static pgy_status attention_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)attention_describe(p, u, u->self->needs); /* cannot fail after `accept` */
    const uint64_t units = p->batch * p->heads * attention_row_units(p);
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 2, .in_place = -1};
    out->parts = (uint32_t)(units < 256 ? units : 256);
    out->workspace_bytes =
        p->batch * p->kv_heads * (p->packed_keys + p->packed_values) * sizeof(float);
    out->scratch_bytes = UNIT_ROWS * (p->size + block_width(p) + p->v_padded) * sizeof(float);
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static uint64_t attention_reach(const params *p, const strides *s, uint64_t heads, uint64_t rows,
                                uint64_t size)
{
    const uint64_t sizes[] = {p->batch, heads, rows, size};
    const uint64_t steps[] = {s->batch, s->head, s->row, 1};
    return extent_reach(sizes, steps, 4);
}

static void state_mask(kernel_extent *e, const params *p)
{
    const uint64_t sizes[] = {p->batch, p->heads, p->rows,
                              p->m_keys < p->keys ? p->m_keys : p->keys};
    const uint64_t steps[] = {p->m_batch, p->m_head, p->m_row, p->m_key};
    if (p->mask)
        extent_tensor(e, MASK, extent_reach(sizes, steps, 4),
                      p->mask == MASK_BOOLS ? 1 : sizeof(float));
}

static bool has_valid_sizes(const params *p)
{
    const uint64_t columns = matmul_tile_of((cpu_level)p->level)->columns;
    if (!p->batch || !p->heads || !p->kv_heads || !p->rows || !p->keys || !p->size || !p->v_size ||
        p->heads % p->kv_heads || p->mask > MASK_BOOLS || p->m_key > 1)
        return false;
    return p->v_padded == extent_round_up(p->v_size, columns) &&
           p->packed_keys == extent_mul(extent_round_up(p->keys, columns), p->size) &&
           p->packed_values == extent_mul(p->v_padded, p->keys);
}

static bool attention_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level)) return false;
    if (p->inputs != q->input_count || p->inputs <= V || (p->mask && p->inputs <= MASK))
        return extent_refuse(e, "number of inputs");
    if (!has_valid_sizes(p)) return extent_refuse(e, "sizes");
    const uint64_t heads = extent_mul3(p->batch, p->heads, p->rows);
    const uint64_t each = extent_add(p->packed_keys, p->packed_values);
    extent_tensor(e, Q, attention_reach(p, &p->q, p->heads, p->rows, p->size), sizeof(float));
    extent_tensor(e, K, attention_reach(p, &p->k, p->kv_heads, p->keys, p->size), sizeof(float));
    extent_tensor(e, V, attention_reach(p, &p->v, p->kv_heads, p->keys, p->v_size), sizeof(float));
    extent_tensor(e, p->inputs, attention_reach(p, &p->y, p->heads, p->rows, p->v_size),
                  sizeof(float));
    /* A plan file must not demand endless loops: their counts follow from the output's size. */
    extent_tensor(e, p->inputs, extent_mul(heads, p->v_size), sizeof(float));
    state_mask(e, p);
    e->phases = 2;
    e->workspace = extent_mul(extent_mul3(p->batch, p->kv_heads, each), sizeof(float));
    e->scratch = extent_mul(extent_add(extent_add(p->size, block_width(p)), p->v_padded),
                            UNIT_ROWS * sizeof(float));
    return true;
}

/* ---- Packing -------------------------------------------------------------------------------- */

static void attention_pack_head(const params *p, const kernel_run *r, uint64_t index)
{
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const uint64_t b = index / p->kv_heads, h = index % p->kv_heads;
    float *to = (float *)r->workspace + index * (p->packed_keys + p->packed_values);
    const matmul_shape keys = {.n = p->keys, .k = p->size, .b_row = 1, .b_column = p->k.row};
    const matmul_shape values = {.n = p->v_size, .k = p->keys, .b_row = p->v.row, .b_column = 1};
    matmul_pack(to, (const float *)r->tensors[K] + b * p->k.batch + h * p->k.head, &keys, t, 0,
                matmul_panel_count(&keys, t));
    matmul_pack(to + p->packed_keys, (const float *)r->tensors[V] + b * p->v.batch + h * p->v.head,
                &values, t, 0, matmul_panel_count(&values, t));
}

/* ---- Running -------------------------------------------------------------------------------- */

/* A unit of work: some query rows of one head. */
typedef struct unit {
    const params *p;
    const matmul_tile *t;
    uint64_t b, h, first, rows;
    const float *keys, *values;  /* the head's packed keys and values */
    float *query, *scores, *sum; /* [rows][size], [rows][width], [rows][v_padded] */
    float largest[UNIT_ROWS], total[UNIT_ROWS];
} unit;

/* The number of keys that query row i may attend to; all later keys are masked. */
static uint64_t open_keys(const unit *u, uint64_t i)
{
    const params *p = u->p;
    uint64_t n = p->m_keys < p->keys ? p->m_keys : p->keys;
    if (p->causal && u->first + i + 1 < n) n = u->first + i + 1;
    return n;
}

static void copy_query(const unit *u, const float *q)
{
    const params *p = u->p;
    for (uint64_t i = 0; i < u->rows; i++) {
        const float *from = q + u->b * p->q.batch + u->h * p->q.head + (u->first + i) * p->q.row;
        for (uint64_t d = 0; d < p->size; d++) u->query[i * p->size + d] = from[d] * p->scale;
    }
}

/* Computes the scores of keys [from, to) for all rows. */
static void attention_score(const unit *u, uint64_t from, uint64_t to)
{
    const uint64_t columns = u->t->columns, width = block_width(u->p), size = u->p->size;
    for (uint64_t k = from; k < to; k += columns)
        for (uint64_t i = 0; i < u->rows; i += u->t->rows) {
            const uint64_t rows = u->rows - i < u->t->rows ? u->rows - i : u->t->rows;
            matmul_tile_run(u->t, rows, size, u->query + i * size, size, u->keys + k * size,
                            u->scores + i * width + k - from, width, false);
        }
}

static void add_mask(const unit *u, const void *mask, uint64_t row, float *x, uint64_t from,
                     size_t n)
{
    const params *p = u->p;
    const uint64_t step = p->m_key;
    const uint64_t at = u->b * p->m_batch + u->h * p->m_head + row * p->m_row + from * step;
    const float *floats = p->mask == MASK_FLOATS ? (const float *)mask + at : NULL;
    const uint8_t *bools = p->mask == MASK_BOOLS ? (const uint8_t *)mask + at : NULL;
    if (floats && step)
        for (size_t j = 0; j < n; j++) x[j] += floats[j];
    else if (floats)
        for (size_t j = 0; j < n; j++) x[j] += *floats;
    for (size_t j = 0; bools && j < n; j++) x[j] = bools[j * step] ? x[j] : -INFINITY;
}

static void attention_bend(const vec_math *m, float *x, size_t n, float cap)
{
    for (size_t j = 0; j < n; j++) x[j] /= cap;
    m->tanh(x, x, n);
    for (size_t j = 0; j < n; j++) x[j] *= cap;
}

/* Turns one row's scores into exponentials; rescales earlier sums to the new largest score. */
static void attention_soften(unit *u, const void *mask, uint64_t i, uint64_t from, uint64_t to)
{
    const params *p = u->p;
    const vec_math *m = vec_math_of((cpu_level)p->level);
    float *x = u->scores + i * block_width(p), *sum = u->sum + i * p->v_padded;
    const uint64_t end = open_keys(u, i), open = end > from ? end < to ? end - from : to - from : 0;
    if (p->cap > 0) attention_bend(m, x, open, p->cap);
    if (p->mask) add_mask(u, mask, u->first + i, x, from, open);
    const float most = m->max(x, open);
    const float before = u->largest[i], now = most > before || most != most ? most : before;
    for (uint64_t j = open; j < to - from; j++) x[j] = 0;
    if (now == -INFINITY) { /* all keys so far are masked */
        memset(x, 0, open * sizeof *x);
        return;
    }
    const float added = m->exp_sum(x, x, open, now), factor = expf(before - now);
    u->total[i] = u->total[i] * factor + added;
    u->largest[i] = now;
    for (uint64_t d = 0; from && factor != 1 && d < p->v_size; d++) sum[d] *= factor;
}

static void attention_weigh(const unit *u, uint64_t from, uint64_t to)
{
    const params *p = u->p;
    const uint64_t columns = u->t->columns, width = block_width(p);
    for (uint64_t d = 0; d < p->v_padded; d += columns)
        for (uint64_t i = 0; i < u->rows; i += u->t->rows) {
            const uint64_t rows = u->rows - i < u->t->rows ? u->rows - i : u->t->rows;
            matmul_tile_run(u->t, rows, to - from, u->scores + i * width, width,
                            u->values + d * p->keys + from * columns, u->sum + i * p->v_padded + d,
                            p->v_padded, from > 0);
        }
}

static void attention_unit(const params *p, const kernel_run *r, uint64_t index)
{
    const uint64_t across = attention_row_units(p), head = index / across;
    unit u = {.p = p,
              .t = matmul_tile_of((cpu_level)p->level),
              .b = head / p->heads,
              .h = head % p->heads,
              .first = index % across * UNIT_ROWS,
              .query = r->scratch};
    const uint64_t group = u.b * p->kv_heads + u.h / (p->heads / p->kv_heads);
    const void *mask = p->mask ? r->tensors[MASK] : NULL;
    u.rows = p->rows - u.first < UNIT_ROWS ? p->rows - u.first : UNIT_ROWS;
    u.keys = (const float *)r->workspace + group * (p->packed_keys + p->packed_values);
    u.values = u.keys + p->packed_keys;
    u.scores = u.query + UNIT_ROWS * p->size;
    u.sum = u.scores + UNIT_ROWS * block_width(p);
    for (uint64_t i = 0; i < u.rows; i++) u.largest[i] = -INFINITY, u.total[i] = 0;
    copy_query(&u, r->tensors[Q]);
    const uint64_t last = open_keys(&u, u.rows - 1);
    for (uint64_t from = 0; from < last; from += BLOCK_KEYS) {
        const uint64_t to = last - from < BLOCK_KEYS ? last : from + BLOCK_KEYS;
        attention_score(&u, from, to);
        for (uint64_t i = 0; i < u.rows; i++) attention_soften(&u, mask, i, from, to);
        attention_weigh(&u, from, to);
    }
    for (uint64_t i = 0; i < u.rows; i++) {
        float *y = (float *)r->tensors[p->inputs] + u.b * p->y.batch + u.h * p->y.head +
                   (u.first + i) * p->y.row;
        const float *sum = u.sum + i * p->v_padded, factor = 1 / u.total[i];
        const bool closed = u.total[i] == 0;
        for (uint64_t d = 0; d < p->v_size; d++) y[d] = closed ? 0 : sum[d] * factor;
    }
}

static void attention_run(const kernel_run *r)
{
    const params *p = r->params;
    const size_t count =
        r->phase == 0 ? p->batch * p->kv_heads : p->batch * p->heads * attention_row_units(p);
    size_t from, to;
    kernel_share(&from, &to, count, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++)
        if (r->phase == 0)
            attention_pack_head(p, r, i);
        else
            attention_unit(p, r, i);
}

#define ROW(suffix, level, flops_per_ns)                                                    \
    {                                                                                       \
        .name = "attention_f32_" #suffix, .version = 1, .ops = "Attention", .needs = level, \
        .rates = {flops_per_ns}, .accept = attention_accept, .prepare = attention_prepare,  \
        .run = attention_run, .extent = attention_extent                                    \
    }
const kernel KERNELS_attention[] = {
    ROW(portable, CPU_PORTABLE, 12),
    ROW(avx2, CPU_AVX2, 80),
    ROW(avx512, CPU_AVX512, 90),
    {0},
};

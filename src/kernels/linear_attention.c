/* SPDX-License-Identifier: Apache-2.0 */
/* LinearAttention of both domains in float32: for each token and key head
 *
 *     S <- exp(decay) * S;  v <- beta * (v - S^T k);  S <- S + k v^T;  o = scale * q^T S
 *
 * where the update rule selects the first and the second step. The columns of S [d_k, d_v] do not
 * depend on each other: a unit of work takes a block of them, which fits in the first-level cache,
 * through all tokens. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/elementwise.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/state_loops.h"
#include "kernels/vec_math.h"

enum { Q, K, V, PAST, DECAY, BETA };
enum { PARTS = 256, LINE = 16 /* floats of a cache line */ };

typedef struct params {
    uint64_t batch, tokens, heads, kv_heads; /* query heads share the states of key heads */
    uint64_t size, v_size;                   /* d_k, d_v */
    uint32_t level, inputs;
    uint32_t gated, delta;
    uint32_t decay_each; /* a decay for each element of a key, else for each key head */
    uint32_t beta_once;  /* one beta for all heads */
    float scale;
} params;

/* ---- The problem ---------------------------------------------------------------------------- */

static bool linear_has(const kernel_problem *u, size_t input)
{
    return input < u->input_count && u->inputs[input].dtype;
}

static bool read_rule(params *p, const op_node *n)
{
    static const char *const NAMES[] = {"linear", "gated", "delta", "gated_delta"};
    for (uint32_t i = 0; i < 4; i++) {
        if (!op_attr_is(n, "update_rule", NAMES[i], "gated_delta")) continue;
        p->gated = i & 1;
        p->delta = i >> 1;
        return true;
    }
    return false;
}

static bool read_gates(params *p, const kernel_problem *u)
{
    if (p->gated != linear_has(u, DECAY) || p->delta != linear_has(u, BETA)) return false;
    const uint64_t decays = p->gated ? (uint64_t)u->inputs[DECAY].shape[2] : 0;
    const uint64_t betas = p->delta ? (uint64_t)u->inputs[BETA].shape[2] : 0;
    p->decay_each = p->gated && decays != p->kv_heads;
    p->beta_once = betas == 1;
    return (!p->decay_each || decays == p->kv_heads * p->size) &&
           (!p->delta || p->beta_once || betas == p->kv_heads);
}

static bool linear_describe(params *p, const kernel_problem *u)
{
    const op_node *n = u->node;
    const kernel_tensor *q = &u->inputs[Q], *v = &u->inputs[V];
    const int64_t heads = op_attr_int(n, "q_num_heads", 0),
                  kv_heads = op_attr_int(n, "kv_num_heads", 0);
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype && (u->inputs[i].dtype != PGY_F32 || !kernel_count(&u->inputs[i])))
            return false;
    for (size_t i = 0; i < u->output_count; i++)
        if (u->outputs[i].dtype && u->outputs[i].dtype != PGY_F32) return false;
    if (u->output_count != 2 || !u->outputs[0].dtype || heads < 1 || kv_heads < 1 ||
        heads % kv_heads || op_attr_int(n, "state_window", 0))
        return false;
    *p = (params){.batch = (uint64_t)q->shape[0],
                  .tokens = (uint64_t)q->shape[1],
                  .heads = (uint64_t)heads,
                  .kv_heads = (uint64_t)kv_heads,
                  .size = (uint64_t)(q->shape[2] / heads),
                  .v_size = (uint64_t)(v->shape[2] / kv_heads),
                  .level = u->self->needs,
                  .inputs = (uint32_t)u->input_count,
                  .scale = (float)op_attr_float(n, "scale", 0)};
    if (p->scale == 0) p->scale = (float)(1 / sqrt((double)p->size));
    const uint64_t tokens = p->batch * p->tokens, states = p->batch * p->kv_heads * p->size;
    if (kernel_count(q) != tokens * p->heads * p->size ||
        kernel_count(&u->inputs[K]) != tokens * p->kv_heads * p->size ||
        kernel_count(v) != tokens * p->kv_heads * p->v_size ||
        (linear_has(u, PAST) && kernel_count(&u->inputs[PAST]) != states * p->v_size))
        return false;
    return read_rule(p, n) && read_gates(p, u);
}

static bool linear_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!linear_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    const double steps = (double)(p.batch * p.tokens * (p.heads + p.kv_heads));
    *cost_ns = 200 + steps * (30 + (double)(p.size * p.v_size) * u->self->rates[0]);
    return true;
}

static uint64_t blocks_of(const params *p)
{
    return (p->v_size - 1) / STATE_COLUMNS + 1;
}

/* What `scratch` holds, in floats. */
typedef struct places {
    uint64_t v, y, key, state, end;
} places;

static places places_of(const params *p)
{
    places s = {.v = 0, .y = STATE_COLUMNS, .key = 2 * STATE_COLUMNS};
    s.state = extent_round_up(extent_add(s.key, p->size), 16);
    s.end = extent_add(s.state, extent_mul(p->size, STATE_COLUMNS));
    return s;
}

static uint64_t decays_of(const params *p)
{
    const uint64_t width = p->decay_each ? extent_mul(p->kv_heads, p->size) : p->kv_heads;
    return p->gated ? extent_mul3(p->batch, p->tokens, width) : 0;
}

static pgy_status linear_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)linear_describe(p, u); /* cannot fail after `accept` */
    const uint64_t units = p->batch * p->kv_heads * blocks_of(p);
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .workspace_bytes = decays_of(p) * sizeof(float),
                         .scratch_bytes = places_of(p).end * sizeof(float),
                         .phases = 1 + p->gated,
                         .in_place = -1};
    out->parts = (uint32_t)(units < PARTS ? units : PARTS);
    return PGY_OK;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static bool linear_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !extent_enum(e, p->gated, 2, "gated") ||
        !extent_enum(e, p->delta, 2, "delta") ||
        !extent_enum(e, p->decay_each, 1 + p->gated, "decay"))
        return false;
    if (p->inputs != q->input_count || p->inputs <= V || (p->gated && p->inputs <= DECAY) ||
        (p->delta && p->inputs <= BETA) || q->output_count != 2)
        return extent_refuse(e, "number of operands");
    if (!p->batch || !p->tokens || !p->kv_heads || !p->heads || p->heads % p->kv_heads ||
        !p->size || !p->v_size)
        return extent_refuse(e, "sizes");
    const uint64_t tokens = extent_mul(p->batch, p->tokens);
    const uint64_t states = extent_mul3(extent_mul(p->batch, p->kv_heads), p->size, p->v_size);
    extent_tensor(e, Q, extent_mul3(tokens, p->heads, p->size), sizeof(float));
    extent_tensor(e, K, extent_mul3(tokens, p->kv_heads, p->size), sizeof(float));
    extent_tensor(e, V, extent_mul3(tokens, p->kv_heads, p->v_size), sizeof(float));
    if (p->inputs > PAST && extent_has(q, PAST)) extent_tensor(e, PAST, states, sizeof(float));
    if (p->gated) extent_tensor(e, DECAY, decays_of(p), sizeof(float));
    if (p->delta)
        extent_tensor(e, BETA, extent_mul(tokens, p->beta_once ? 1 : p->kv_heads), sizeof(float));
    extent_tensor(e, p->inputs, extent_mul3(tokens, p->heads, p->v_size), sizeof(float));
    if (extent_has(q, p->inputs + 1)) extent_tensor(e, p->inputs + 1, states, sizeof(float));
    e->workspace = extent_mul(decays_of(p), sizeof(float));
    e->scratch = extent_mul(places_of(p).end, sizeof(float));
    e->phases = 1 + p->gated;
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* The first phase of gated rules: factors of all decays. */
static void decay_run(const kernel_run *r, const params *p)
{
    size_t from, to;
    kernel_share(&from, &to, decays_of(p), r->part, r->parts);
    vec_math_of((cpu_level)p->level)
        ->exp((float *)r->workspace + from, (const float *)r->tensors[DECAY] + from, to - from);
}

/* A block of columns of the state of one key head. */
typedef struct block {
    const params *p;
    const kernel_run *r;
    const state_loops *loops;
    uint64_t batch, head, column, columns;
    float *v, *y, *key; /* in scratch */
    state_token t;
} block;

/* Sets what the delta rule needs: weights that recall the value of a key, before the decay. */
static void block_delta(block *b, uint64_t token)
{
    static const uint32_t both[] = {1, 1};
    const params *p = b->p;
    const float *betas = b->r->tensors[BETA];
    const bool each = p->decay_each;
    b->t.beta = betas[p->beta_once ? token : token * p->kv_heads + b->head];
    b->t.factor = p->gated && !each ? b->t.decay[0] : 1;
    b->t.w = each ? b->key : b->t.k;
    if (each)
        elementwise_table((cpu_level)p->level)[ELEMENTWISE_mul_f32](
            b->key, (const void *const[]){b->t.k, b->t.decay}, both, p->size, NULL);
}

/* Fetches a row of floats. Rows of consecutive tokens lie in different pages, where the processor's
 * own prefetching ends. */
static void fetch_row(const float *row, uint64_t count)
{
    for (uint64_t i = 0; i < count; i += LINE) __builtin_prefetch(row + i);
}

static void fetch_token(const block *b, uint64_t token)
{
    const params *p = b->p;
    const uint64_t group = p->heads / p->kv_heads, at = token * p->kv_heads + b->head;
    const float *y = (const float *)b->r->tensors[p->inputs] + at * group * p->v_size + b->column;
    for (uint64_t h = 0; h < group; h++)
        for (uint64_t j = 0; j < b->columns; j += LINE)
            __builtin_prefetch(y + h * p->v_size + j, 1);
    fetch_row((const float *)b->r->tensors[Q] + at * group * p->size, group * p->size);
    fetch_row((const float *)b->r->tensors[K] + at * p->size, p->size);
    fetch_row((const float *)b->r->tensors[V] + at * p->v_size + b->column, b->columns);
    if (p->decay_each) fetch_row((const float *)b->r->workspace + at * p->size, p->size);
}

static void block_token(block *b, uint64_t token)
{
    const params *p = b->p;
    const bool whole = b->columns == STATE_COLUMNS;
    const uint64_t group = p->heads / p->kv_heads, at = token * p->kv_heads + b->head;
    const float *q = (const float *)b->r->tensors[Q] + at * group * p->size;
    const float *v = (const float *)b->r->tensors[V] + at * p->v_size + b->column;
    float *y = (float *)b->r->tensors[p->inputs] + at * group * p->v_size + b->column;
    if (!whole) memcpy(b->v, v, b->columns * sizeof *v);
    b->t.k = (const float *)b->r->tensors[K] + at * p->size;
    b->t.v = whole ? v : b->v;
    if (p->gated) b->t.decay = (const float *)b->r->workspace + (p->decay_each ? at * p->size : at);
    if (p->delta) block_delta(b, token);
    for (uint64_t h = 0; h < group; h++, q += p->size, y += p->v_size) {
        b->t.q = q;
        b->t.y = whole ? y : b->y;
        if (h == 0)
            b->loops->update(&b->t);
        else
            b->loops->recall(b->t.y, b->t.to, b->t.to_step, q, p->size, p->scale);
        if (!whole) memcpy(y, b->y, b->columns * sizeof *y);
    }
}

/* Copies a block of columns, between a state and a block in scratch. */
static void copy_columns(float *to, size_t to_step, const float *from, size_t from_step,
                         size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * to_step, from + i * from_step, columns * sizeof *to);
}

/* A whole block is read from the past state by its first token, and written to the present state by
 * its last one; a narrower one is copied, as the loops touch all columns. */
static void block_run(block *b, const float *past, float *present, float *state)
{
    const params *p = b->p;
    const bool whole = b->columns == STATE_COLUMNS;
    const uint64_t first = b->batch * p->tokens, end = first + p->tokens;
    if (!past || !whole) memset(state, 0, p->size * STATE_COLUMNS * sizeof *state);
    if (past && !whole) copy_columns(state, STATE_COLUMNS, past, p->v_size, p->size, b->columns);
    for (uint64_t token = first; token < end && !cancel_requested(); token++) {
        const bool reads = whole && past && token == first;
        const bool writes = whole && present && token + 1 == end;
        if (token + 1 < end) fetch_token(b, token + 1);
        b->t.from = reads ? past : state;
        b->t.to = writes ? present : state;
        b->t.from_step = reads ? p->v_size : STATE_COLUMNS;
        b->t.to_step = writes ? p->v_size : STATE_COLUMNS;
        block_token(b, token);
    }
    if (present && !whole)
        copy_columns(present, p->v_size, state, STATE_COLUMNS, p->size, b->columns);
}

static void linear_run(const kernel_run *r)
{
    const params *p = r->params;
    const places at = places_of(p);
    const uint64_t blocks = blocks_of(p);
    float *scratch = r->scratch;
    if (p->gated && r->phase == 0) {
        decay_run(r, p);
        return;
    }
    size_t from, to;
    kernel_share(&from, &to, p->batch * p->kv_heads * blocks, r->part, r->parts);
    for (size_t unit = from; unit < to && !cancel_requested(); unit++) {
        const uint64_t head = unit / blocks, column = unit % blocks * STATE_COLUMNS;
        const uint64_t left = p->v_size - column, start = head * p->size * p->v_size + column;
        block b = {.p = p,
                   .r = r,
                   .loops = state_loops_of((cpu_level)p->level),
                   .batch = head / p->kv_heads,
                   .head = head % p->kv_heads,
                   .column = column,
                   .columns = left < STATE_COLUMNS ? left : STATE_COLUMNS,
                   .v = scratch + at.v,
                   .y = scratch + at.y,
                   .key = scratch + at.key};
        const float *past = p->inputs > PAST ? r->tensors[PAST] : NULL;
        float *present = r->tensors[p->inputs + 1];
        memset(b.v, 0, STATE_COLUMNS * sizeof *b.v); /* columns behind the last stay 0 */
        b.t = (state_token){.rows = p->size, .decay_each = p->decay_each, .scale = p->scale};
        block_run(&b, past ? past + start : NULL, present ? present + start : NULL,
                  scratch + at.state);
    }
}

#define ROW(suffix, level, each)                                                                 \
    {                                                                                            \
        .name = "linear_attention_f32_" #suffix, .version = 1,                                   \
        .ops = "LinearAttention com.microsoft:LinearAttention", .needs = level, .rates = {each}, \
        .accept = linear_accept, .prepare = linear_prepare, .run = linear_run,                   \
        .extent = linear_extent                                                                  \
    }
const kernel KERNELS_linear_attention[] = {
    ROW(portable, CPU_PORTABLE, 0.3),
    ROW(avx2, CPU_AVX2, 0.06),
    ROW(avx512, CPU_AVX512, 0.04),
    {0},
};

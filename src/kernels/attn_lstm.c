/* SPDX-License-Identifier: Apache-2.0 */
/* AttnLSTM in float32: the problem, packed weights, and plans from files. */
#include "kernels/attn_lstm.h"

#include <string.h>

#include "base/alloc.h"
#include "kernels/packing.h"

enum { MOST_FLOATS = 1 << 28, CHUNK_FLOATS = 2048 };

/* ---- The problem ---------------------------------------------------------------------------- */

static bool has(const kernel_problem *u, size_t i)
{
    return i < u->input_count && u->inputs[i].dtype;
}

static bool is_weight(const kernel_problem *u, size_t i)
{
    return u->inputs[i].dtype == PGY_F32 && u->inputs[i].data;
}

static bool are_known(const kernel_problem *u)
{
    if (u->input_count <= ATTN_LSTM_M || u->inputs[ATTN_LSTM_M].dtype != PGY_F32) return false;
    if (!is_weight(u, ATTN_LSTM_QW) || !is_weight(u, ATTN_LSTM_MW) || !is_weight(u, ATTN_LSTM_V))
        return false;
    if (has(u, ATTN_LSTM_LENGTHS) && u->inputs[ATTN_LSTM_LENGTHS].dtype != PGY_I32) return false;
    return !has(u, ATTN_LSTM_AW) || is_weight(u, ATTN_LSTM_AW);
}

static uint64_t round_up(uint64_t n, const attn_lstm *p)
{
    const uint64_t columns = matmul_tile_of((cpu_level)p->rnn.level)->columns;
    return (n + columns - 1) / columns * columns;
}

/* Are the sizes small enough that nothing computed from them overflows? */
static bool are_sizes(const attn_lstm *p)
{
    const uint64_t sizes[] = {p->units, p->rows, p->depth, p->size}, most = MOST_FLOATS / 64;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!sizes[i] || sizes[i] > most) return false;
    const uint64_t wide = p->depth > p->units ? p->depth : p->units;
    return p->rnn.batch <= MOST_FLOATS / p->rows &&
           p->rnn.batch * p->rows <= MOST_FLOATS / round_up(wide, p) &&
           p->rnn.batch <= MOST_FLOATS / round_up(p->size, p);
}

static uint64_t scratch_floats(const attn_lstm *p)
{
    const matmul_tile *t = matmul_tile_of((cpu_level)p->rnn.level);
    const matmul_shape keys = attn_lstm_keys(p);
    const uint64_t sizes[] = {matmul_scratch_count(&keys, t), p->at.chunk * p->at.padded_units};
    uint64_t most = matmul_scratch_count(&p->rnn.product, t);
    for (size_t i = 0; i < 2; i++)
        if (sizes[i] > most) most = sizes[i];
    return most;
}

/* Sets the members that follow from the sizes and the level. */
static void attn_lstm_place(attn_lstm *p)
{
    const rnn_params *n = &p->rnn;
    attn_lstm_places *at = &p->at;
    memset(at, 0, sizeof *at);
    at->padded_units = round_up(p->units, p);
    at->padded_size = round_up(p->size, p);
    at->mw = at->padded_units;
    at->qw = at->mw + p->depth * at->padded_units;
    at->wa = at->qw + n->hidden * at->padded_units;
    at->aw = at->wa + n->width * p->size;
    at->each = at->aw + (p->has_layer ? (n->hidden + p->depth) * at->padded_size : 0);
    at->state_step = p->has_layer ? at->padded_size : p->depth;
    at->keys = rnn_workspace_floats(n);
    at->queries = at->keys + n->directions * n->batch * p->rows * at->padded_units;
    at->scores = at->queries + n->batch * at->padded_units;
    at->context = at->scores + n->batch * p->rows;
    at->state = p->has_layer ? at->context + n->batch * p->depth : at->context;
    at->workspace = at->state + n->batch * at->state_step;
    at->chunk = at->padded_units < CHUNK_FLOATS ? CHUNK_FLOATS / at->padded_units : 1;
    at->scratch = scratch_floats(p);
}

static bool attn_lstm_describe(attn_lstm *p, const kernel_problem *u, cpu_level level)
{
    memset(p, 0, sizeof *p);
    if (u->input_count <= ATTN_LSTM_M || !rnn_describe(&p->rnn, u, level) || !are_known(u))
        return false;
    const int64_t *m = u->inputs[ATTN_LSTM_M].shape;
    p->has_layer = has(u, ATTN_LSTM_AW);
    p->has_lengths = has(u, ATTN_LSTM_LENGTHS);
    p->units = (uint64_t)u->inputs[ATTN_LSTM_V].shape[1];
    p->rows = (uint64_t)m[1];
    p->depth = (uint64_t)m[2];
    p->size = p->has_layer ? (uint64_t)u->inputs[ATTN_LSTM_AW].shape[2] : p->depth;
    if (!are_sizes(p)) return false;
    attn_lstm_place(p);
    return true;
}

/* Products of one step of one direction. */
static double step_flops(const attn_lstm *p)
{
    const rnn_params *n = &p->rnn;
    const double layer = p->has_layer ? (double)((n->hidden + p->depth) * p->size) : 0;
    return 2.0 * (double)n->batch *
           ((double)(n->width * (n->hidden + p->size)) +
            (double)(n->hidden * p->units + p->rows * p->depth) + layer);
}

static bool attn_lstm_accept(kernel_problem *u, double *cost_ns)
{
    attn_lstm p;
    if (!attn_lstm_describe(&p, u, u->self->needs)) return false;
    const rnn_params *n = &p.rnn;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    const double rows = (double)(n->directions * n->steps);
    const double inputs = 2.0 * (double)(n->steps * n->batch * n->width) * (double)n->in;
    const double keys = 2.0 * (double)(n->batch * p.rows * p.units) * (double)p.depth;
    *cost_ns = ((double)n->directions * (inputs + keys) + 1.2 * rows * step_flops(&p)) /
                   u->self->rates[0] +
               rows * (double)n->batch *
                   ((double)n->width * 0.5 + (double)(p.rows * p.units) * u->self->rates[1]) +
               rows * 200;
    return true;
}

/* ---- Packing -------------------------------------------------------------------------------- */

/* Packs a matrix [k, n] of rows that lie one after the other. */
static void pack_rows(float *to, const attn_lstm *p, const float *from, uint64_t k, uint64_t n)
{
    const matmul_tile *t = matmul_tile_of((cpu_level)p->rnn.level);
    const matmul_shape s = {.n = n, .k = k, .b_row = n, .b_column = 1};
    matmul_pack(to, from, &s, t, 0, matmul_panel_count(&s, t));
}

static const float *weights_of(const kernel_problem *u, size_t i, uint64_t d, uint64_t each)
{
    return (const float *)u->inputs[i].data + d * each;
}

static void pack_attention(float *to, const attn_lstm *p, const kernel_problem *u, uint64_t d,
                           float *rows)
{
    const rnn_params *n = &p->rnn;
    const matmul_tile *t = matmul_tile_of((cpu_level)n->level);
    const uint64_t all = n->gates * n->hidden, whole = n->in + p->size;
    const matmul_shape wa = {.n = n->width, .k = p->size, .b_row = 1, .b_column = p->size};
    memset(to, 0, p->at.padded_units * sizeof *to);
    memcpy(to, weights_of(u, ATTN_LSTM_V, d, p->units), p->units * sizeof *to);
    pack_rows(to + p->at.mw, p, weights_of(u, ATTN_LSTM_MW, d, p->depth * p->units), p->depth,
              p->units);
    pack_rows(to + p->at.qw, p, weights_of(u, ATTN_LSTM_QW, d, n->hidden * p->units), n->hidden,
              p->units);
    rnn_pad_gates(rows, n, weights_of(u, RNN_W, d, all * whole) + n->in, p->size, whole);
    matmul_pack(to + p->at.wa, rows, &wa, t, 0, matmul_panel_count(&wa, t));
    if (!p->has_layer) return;
    const uint64_t both = n->hidden + p->depth;
    pack_rows(to + p->at.aw, p, weights_of(u, ATTN_LSTM_AW, d, both * p->size), both, p->size);
}

static bool attn_lstm_fill(void *packed, const kernel_problem *u, const void *user)
{
    const attn_lstm *p = user;
    const rnn_params *n = &p->rnn;
    float *const to = packed, *const behind = to + n->directions * n->each;
    uint64_t depth = n->in > n->hidden ? n->in : n->hidden;
    if (p->size > depth) depth = p->size;
    float *rows = mem_alloc_aligned(64, n->width * depth * sizeof *rows);
    for (uint64_t d = 0; rows && d < n->directions; d++) {
        rnn_pack_direction(to + d * n->each, n, u, d, n->in + p->size, rows);
        pack_attention(behind + d * p->at.each, p, u, d, rows);
    }
    mem_free(rows);
    return rows != NULL;
}

static uint64_t packed_floats(const attn_lstm *p)
{
    return p->rnn.directions * (p->rnn.each + p->at.each);
}

static pgy_status attn_lstm_pack(kernel_plan *out, const attn_lstm *p, const kernel_problem *u,
                                 pgy_error *err)
{
    const rnn_params *n = &p->rnn;
    const kernel_packing how = {
        .form = "attn_lstm",
        .numbers = {matmul_tile_of((cpu_level)n->level)->columns, n->in, n->hidden, n->directions,
                    n->has_peephole, p->units, p->depth, p->size, p->has_layer},
        .inputs = 1u << RNN_W | 1u << RNN_R | 1u << RNN_B | 1u << RNN_P | 1u << ATTN_LSTM_QW |
                  1u << ATTN_LSTM_MW | 1u << ATTN_LSTM_V | 1u << ATTN_LSTM_AW,
        .size_bytes = packed_floats(p) * sizeof(float),
        .fill = attn_lstm_fill,
        .user = p};
    out->packed_inputs = how.inputs;
    const pgy_status st = kernel_pack(out, u, &how, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static uint32_t phase_count(const rnn_params *n)
{
    return 1 + 2 * (uint32_t)(n->directions * n->steps);
}

static pgy_status attn_lstm_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    attn_lstm *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)attn_lstm_describe(p, u, u->self->needs); /* cannot fail after `accept` */
    const rnn_params *n = &p->rnn;
    const uint64_t panels = rnn_panel_count(n), most = panels > n->batch ? panels : n->batch;
    /* Threads wait for each other behind each phase, so small steps get few parts. */
    const double worth =
        (step_flops(p) + 20.0 * (double)(n->batch * p->rows * p->units)) / 200000 + 1;
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .in_place = -1};
    out->phases = phase_count(n);
    out->parts = (uint32_t)(most < 64 ? most : 64);
    if (out->parts > worth) out->parts = (uint32_t)worth;
    out->scratch_bytes = p->at.scratch * sizeof(float);
    out->workspace_bytes = p->at.workspace * sizeof(float);
    return attn_lstm_pack(out, p, u, err);
}

/* ---- Plans from files ----------------------------------------------------------------------- */

/* Do the members that follow from others have the values that `prepare` computes? */
static bool is_consistent(const attn_lstm *p)
{
    attn_lstm own = *p;
    if (p->rnn.cell != RNN_CELL_LSTM || p->rnn.batch_first || !rnn_is_consistent(&p->rnn) ||
        !are_sizes(p) || (!p->has_layer && p->size != p->depth))
        return false;
    attn_lstm_place(&own);
    return !memcmp(&own.at, &p->at, sizeof own.at);
}

static bool attn_lstm_extent(kernel_extent *e, const kernel_claim *q)
{
    const attn_lstm *p = extent_params(e, q, sizeof *p);
    const uint64_t item = sizeof(float);
    if (!p || !extent_level(e, p->rnn.level)) return false;
    if (p->rnn.inputs <= ATTN_LSTM_M || p->rnn.inputs > ATTN_LSTM_INPUTS)
        return extent_refuse(e, "number of operands");
    if (!is_consistent(p)) return extent_refuse(e, "sizes");
    if (!rnn_extent_tensors(e, q, &p->rnn)) return false;
    extent_tensor(e, ATTN_LSTM_M, p->rnn.batch * p->rows * p->depth, item);
    if (p->has_lengths && p->rnn.inputs <= ATTN_LSTM_LENGTHS)
        return extent_refuse(e, "number of operands");
    if (p->has_lengths) {
        extent_tensor(e, ATTN_LSTM_LENGTHS, p->rnn.batch, sizeof(int32_t));
        e->indices |= 1u << ATTN_LSTM_LENGTHS;
    }
    e->packed = packed_floats(p) * item;
    e->phases = phase_count(&p->rnn);
    e->scratch = p->at.scratch * item;
    e->workspace = p->at.workspace * item;
    return true;
}

#define ROW(suffix, level, flops_per_ns, tanh_ns)                                         \
    {                                                                                     \
        .name = "attn_lstm_f32_" #suffix, .version = 1, .ops = "com.microsoft:AttnLSTM",  \
        .needs = level, .rates = {flops_per_ns, tanh_ns},                                 \
        .flags = KERNEL_SHARES_WEIGHTS | KERNEL_KEEPS_PACKED, .accept = attn_lstm_accept, \
        .prepare = attn_lstm_prepare, .run = attn_lstm_run, .extent = attn_lstm_extent    \
    }
const kernel KERNELS_attn_lstm[] = {
    ROW(portable, CPU_PORTABLE, 12, 2.5),
    ROW(avx2, CPU_AVX2, 80, 0.9),
    ROW(avx512, CPU_AVX512, 90, 0.6),
    {0},
};

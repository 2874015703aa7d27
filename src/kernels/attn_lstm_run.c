/* SPDX-License-Identifier: Apache-2.0 */
/* AttnLSTM in float32: keys, the attention of each step, and the products of its gates. */
#include "base/cancel.h"
#include "kernels/attn_lstm.h"
#include "kernels/elementwise.h"
#include "kernels/vec_math.h"

/* The packed weights of the attention of direction d. */
static const float *attention_weights(const attn_lstm *p, const kernel_run *r, uint64_t d)
{
    return (const float *)r->packed + p->rnn.directions * p->rnn.each + d * p->at.each;
}

static float *keys_of(const attn_lstm *p, const kernel_run *r, uint64_t d)
{
    return (float *)r->workspace + p->at.keys + d * p->rnn.batch * p->rows * p->at.padded_units;
}

/* Rows of the memory of batch entry b. */
static uint64_t memory_length(const attn_lstm *p, const kernel_run *r, uint64_t b)
{
    if (!p->has_lengths) return p->rows;
    const int32_t n = ((const int32_t *)r->tensors[ATTN_LSTM_LENGTHS])[b];
    return n < 1 ? 1 : (uint64_t)n > p->rows ? p->rows : (uint64_t)n;
}

static void check_lengths(const attn_lstm *p, const kernel_run *r)
{
    const int32_t *n = p->has_lengths ? r->tensors[ATTN_LSTM_LENGTHS] : NULL;
    for (uint64_t b = 0; n && b < p->rnn.batch; b++)
        if (n[b] < 1 || (uint64_t)n[b] > p->rows) kernel_fail(r, KERNEL_FAULT_LENGTH);
}

static void multiply_memory(const attn_lstm *p, const kernel_run *r)
{
    const matmul_tile *t = matmul_tile_of((cpu_level)p->rnn.level);
    const matmul_shape s = attn_lstm_keys(p);
    const size_t units = matmul_unit_count(&s, t, r->parts);
    size_t from, to;
    kernel_share(&from, &to, p->rnn.directions * units, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const uint64_t d = i / units;
        const matmul_data data = {.a = r->tensors[ATTN_LSTM_M],
                                  .packed = attention_weights(p, r, d) + p->at.mw,
                                  .b_shared = true,
                                  .c = keys_of(p, r, d)};
        matmul_unit(&s, t, r->parts, i % units, &data, r->scratch);
    }
}

/* ---- The attention of a step ---------------------------------------------------------------- */

/* A product of some rows of the batch. */
typedef struct factor {
    const float *rows;
    uint64_t step, depth; /* from one row to the next; numbers in a row that are multiplied */
    const float *packed;
    uint64_t each; /* floats of a packed panel */
} factor;

/* to[b] (+)= x[b] B for batch entries [from, end); `to` has whole panels, `width` floats for each
 * entry. */
static void multiply_rows(const attn_lstm *p, float *to, uint64_t width, const factor *x,
                          uint64_t from, uint64_t end, bool accumulate)
{
    const matmul_tile *t = matmul_tile_of((cpu_level)p->rnn.level);
    for (uint64_t panel = 0; panel < width / t->columns; panel++)
        for (uint64_t b = from; b < end; b += t->rows)
            matmul_tile_run(t, end - b < t->rows ? end - b : t->rows, x->depth,
                            x->rows + b * x->step, x->step, x->packed + panel * x->each,
                            to + b * width + panel * t->columns, width, accumulate);
}

/* Scores rows [0, length) of one memory. */
static void score(const attn_lstm *p, float *scores, const float *keys, const float *query,
                  const float *v, uint64_t length, float *room)
{
    const vec_math *m = vec_math_of((cpu_level)p->rnn.level);
    const elementwise_loop times = elementwise_table((cpu_level)p->rnn.level)[ELEMENTWISE_mul_f32];
    const uint64_t width = p->at.padded_units;
    static const uint32_t ONES[] = {1, 1};
    for (uint64_t i = 0; i < length; i += p->at.chunk) {
        const uint64_t rows = length - i < p->at.chunk ? length - i : p->at.chunk;
        m->combine_rows(room, width, keys + i * width, width, 1, query, 0, 1, rows, width);
        m->tanh(room, room, rows * width);
        for (uint64_t k = 0; k < rows; k++) {
            times(room + k * width, (const void *const[]){room + k * width, v}, ONES, width, NULL);
            scores[i + k] = m->sum(room + k * width, width);
        }
    }
}

/* Sums rows of the memory by weights. */
static void mix(const attn_lstm *p, float *context, const float *memory, const float *weights,
                uint64_t length)
{
    const vec_math *m = vec_math_of((cpu_level)p->rnn.level);
    for (uint64_t i = 0; i < length; i++)
        m->combine_rows(context, 0, memory + i * p->depth, 0, weights[i], i ? context : NULL, 0, 1,
                        1, p->depth);
}

static void read_memory(const attn_lstm *p, const rnn_state *s, uint64_t b)
{
    const kernel_run *r = s->r;
    const attn_lstm_places *at = &p->at;
    float *w = r->workspace, *scores = w + at->scores + b * p->rows;
    const uint64_t length = memory_length(p, r, b);
    score(p, scores, keys_of(p, r, s->direction) + b * p->rows * at->padded_units,
          w + at->queries + b * at->padded_units, attention_weights(p, r, s->direction), length,
          r->scratch);
    vec_math_of((cpu_level)p->rnn.level)->softmax_rows(scores, scores, 1, length);
    mix(p, w + at->context + b * p->depth,
        (const float *)r->tensors[ATTN_LSTM_M] + b * p->rows * p->depth, scores, length);
}

/* Computes the attention of batch entries [from, to) from the state before `step`. */
static void attend(const attn_lstm *p, const rnn_state *s, uint64_t step, uint64_t from,
                   uint64_t to)
{
    const rnn_params *n = &p->rnn;
    const attn_lstm_places *at = &p->at;
    const uint64_t columns = matmul_tile_of((cpu_level)n->level)->columns;
    const float *packed = attention_weights(p, s->r, s->direction), *h = s->h[step % 2];
    const uint64_t both = (n->hidden + p->depth) * columns;
    float *w = s->r->workspace;
    const factor query = {h, n->padded, n->hidden, packed + at->qw, n->hidden * columns};
    const factor state = {h, n->padded, n->hidden, packed + at->aw, both};
    const factor context = {w + at->context, p->depth, p->depth,
                            packed + at->aw + n->hidden * columns, both};
    multiply_rows(p, w + at->queries, at->padded_units, &query, from, to, false);
    for (uint64_t b = from; b < to && !cancel_requested(); b++)
        if (step < rnn_length_of(s, b)) read_memory(p, s, b);
    if (!p->has_layer) return;
    multiply_rows(p, w + at->state, at->padded_size, &state, from, to, false);
    multiply_rows(p, w + at->state, at->padded_size, &context, from, to, true);
}

/* ---- The gates of a step -------------------------------------------------------------------- */

static void add_gates(const attn_lstm *p, const rnn_state *s, uint64_t step, size_t from, size_t to)
{
    const rnn_params *n = &p->rnn;
    const size_t columns = matmul_tile_of((cpu_level)n->level)->columns;
    const rnn_factor h = {s->h[step % 2], n->padded, n->hidden, s->packed + n->r};
    const rnn_factor attention = {(const float *)s->r->workspace + p->at.state, p->at.state_step,
                                  p->size, attention_weights(p, s->r, s->direction) + p->at.wa};
    for (size_t panel = from; panel < to && !cancel_requested(); panel++) {
        rnn_multiply(s, step, 0, n->gates, panel, &h);
        if (step) rnn_multiply(s, step, 0, n->gates, panel, &attention);
    }
    rnn_cells(s, step, true, from * columns, (to - from) * columns);
}

void attn_lstm_run(const kernel_run *r)
{
    const attn_lstm *p = r->params;
    const rnn_params *n = &p->rnn;
    if (r->phase == 0) {
        if (r->part == 0) {
            rnn_begin(n, r);
            check_lengths(p, r);
        }
        rnn_multiply_inputs(n, r);
        multiply_memory(p, r);
        return;
    }
    const uint64_t index = (r->phase - 1) / 2, step = index % n->steps;
    const bool attends = (r->phase - 1) % 2 == 0;
    const rnn_state s = rnn_state_of(n, r, index / n->steps);
    size_t from, to;
    kernel_share(&from, &to, attends ? n->batch : rnn_panel_count(n), r->part, r->parts);
    if (from < to && attends && step) attend(p, &s, step, from, to);
    if (from < to && !attends) add_gates(p, &s, step, from, to);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN in float32: states, the cells of each step, and outputs. */
#include <string.h>

#include "kernels/rnn.h"
#include "kernels/vec_math.h"

rnn_state rnn_state_of(const rnn_params *p, const kernel_run *r, uint64_t d)
{
    const uint64_t rows = p->steps * p->batch * p->width, one = p->batch * p->padded;
    float *states = (float *)r->workspace + p->directions * rows + d * 4 * one;
    return (rnn_state){.p = p,
                       .r = r,
                       .packed = (const float *)r->packed + d * p->each,
                       .xw = (float *)r->workspace + d * rows,
                       .h = {states, states + one},
                       .c = states + 2 * one,
                       .other = states + 3 * one,
                       .direction = d};
}

uint64_t rnn_length_of(const rnn_state *s, uint64_t b)
{
    const rnn_params *p = s->p;
    if (!p->has_lengths) return p->steps;
    const int32_t n = ((const int32_t *)s->r->tensors[RNN_LENGTHS])[b];
    return n < 0 ? 0 : (uint64_t)n > p->steps ? p->steps : (uint64_t)n;
}

/* The time index that batch entry b reads at `step`; `step` must be below the entry's length. */
uint64_t rnn_time_of(const rnn_state *s, uint64_t step, uint64_t b)
{
    return s->p->reverse >> s->direction & 1 ? rnn_length_of(s, b) - 1 - step : step;
}

float *rnn_row_of(const rnn_state *s, uint64_t time, uint64_t b)
{
    const rnn_params *p = s->p;
    return s->xw + (p->batch_first ? b * p->steps + time : time * p->batch + b) * p->width;
}

/* Offset of batch entry b of this direction in Y_h, Y_c, initial_h and initial_c. */
static uint64_t state_at(const rnn_state *s, uint64_t b)
{
    const rnn_params *p = s->p;
    return (p->batch_first ? b * p->directions + s->direction : s->direction * p->batch + b) *
           p->hidden;
}

static void rnn_load_state(const rnn_state *s, float *to, size_t input)
{
    const rnn_params *p = s->p;
    const float *from = input < p->inputs ? s->r->tensors[input] : NULL;
    memset(to, 0, p->batch * p->padded * sizeof *to);
    for (uint64_t b = 0; from && b < p->batch; b++)
        memcpy(to + b * p->padded, from + state_at(s, b), p->hidden * sizeof *to);
}

void rnn_begin(const rnn_params *p, const kernel_run *r)
{
    const int32_t *lengths = p->has_lengths ? r->tensors[RNN_LENGTHS] : NULL;
    for (uint64_t b = 0; lengths && b < p->batch; b++)
        if (lengths[b] < 0 || (uint64_t)lengths[b] > p->steps) kernel_fault(r);
    for (uint64_t d = 0; d < p->directions; d++) {
        const rnn_state s = rnn_state_of(p, r, d);
        rnn_load_state(&s, s.h[0], RNN_H0);
        rnn_load_state(&s, s.c, p->cell == RNN_CELL_LSTM ? RNN_C0 : RNN_INPUTS);
    }
}

/* ---- Cells, for hidden units of one batch entry --------------------------------------------- */

static void rnn_apply(const rnn_state *s, size_t which, float *x, size_t n)
{
    const rnn_params *p = s->p;
    const vec_math *m = vec_math_of((cpu_level)p->level);
    const uint32_t f = p->functions[s->direction * (p->cell + 1) + which];
    if (f == RNN_SIGMOID) m->sigmoid(x, x, n);
    if (f == RNN_TANH) m->tanh(x, x, n);
    for (size_t j = 0; f == RNN_RELU && j < n; j++) x[j] = x[j] < 0 ? 0 : x[j];
}

static void add_products(float *y, const float *a, const float *b, size_t n)
{
    for (size_t j = 0; j < n; j++) y[j] += a[j] * b[j];
}

/* Computes part of an LSTM cell. `row` holds the gates i, o, f, c. */
static void rnn_lstm(const rnn_state *s, float *row, float *h, float *c, size_t at, size_t n)
{
    const rnn_params *p = s->p;
    float *in = row, *out = row + p->padded, *forget = out + p->padded, *next = forget + p->padded;
    const float *peephole = s->packed + p->peephole + at;
    if (p->has_peephole) {
        add_products(in, peephole, c, n);
        add_products(forget, peephole + 2 * p->padded, c, n);
    }
    rnn_apply(s, 0, in, n);
    rnn_apply(s, 0, forget, n);
    rnn_apply(s, 1, next, n);
    for (size_t j = 0; p->coupled && j < n; j++) forget[j] = 1 - in[j];
    for (size_t j = 0; j < n; j++) c[j] = forget[j] * c[j] + in[j] * next[j];
    if (p->has_peephole) add_products(out, peephole + p->padded, c, n);
    rnn_apply(s, 0, out, n);
    memcpy(h, c, n * sizeof *h);
    rnn_apply(s, 2, h, n);
    for (size_t j = 0; j < n; j++) h[j] *= out[j];
}

/* Computes part of a GRU cell. `row` holds the gates z, r, h; z and r are already activated. */
static void rnn_gru(const rnn_state *s, float *row, float *h, const float *before,
                    const float *other, size_t at, size_t n)
{
    const rnn_params *p = s->p;
    const float *update = row, *reset = row + p->padded, *bias = s->packed + p->bias_r + at;
    float *next = row + 2 * p->padded;
    for (size_t j = 0; p->late_reset && j < n; j++) next[j] += reset[j] * (other[j] + bias[j]);
    rnn_apply(s, 1, next, n);
    for (size_t j = 0; j < n; j++) h[j] = (1 - update[j]) * next[j] + update[j] * before[j];
}

/* Computes hidden units [at, at + n) of batch entry b. The first phase of an early-reset GRU only
 * computes its first two gates. */
static void compute_cell(const rnn_state *s, uint64_t step, uint64_t b, size_t at, size_t n,
                         bool ends)
{
    const rnn_params *p = s->p;
    const uint64_t place = b * p->padded + at;
    float *row = rnn_row_of(s, rnn_time_of(s, step, b), b) + at;
    float *h = s->h[(step + 1) % 2] + place, *before = s->h[step % 2] + place;
    float *other = s->other + place;
    if (p->cell == RNN_CELL_LSTM) {
        rnn_lstm(s, row, h, s->c + place, at, n);
    } else if (p->cell == RNN_CELL_RNN) {
        rnn_apply(s, 0, row, n);
        memcpy(h, row, n * sizeof *h);
    } else {
        if (!ends || p->late_reset) {
            rnn_apply(s, 0, row, n);
            rnn_apply(s, 0, row + p->padded, n);
        }
        if (ends) rnn_gru(s, row, h, before, other, at, n);
        for (size_t j = 0; !ends && j < n; j++) other[j] = row[p->padded + j] * before[j];
    }
}

/* The address of output i; NULL if it is omitted, or the node has fewer outputs. */
static float *output_of(const rnn_state *s, uint32_t i)
{
    return i < s->p->outputs ? s->r->tensors[s->p->inputs + i] : NULL;
}

static void rnn_store(const rnn_state *s, uint64_t step, uint64_t b, size_t at, size_t n)
{
    const rnn_params *p = s->p;
    float *all = output_of(s, 0), *last = output_of(s, 1), *last_c = output_of(s, 2);
    const bool here = step < rnn_length_of(s, b);
    const uint64_t time = here ? rnn_time_of(s, step, b) : step;
    const uint64_t row = p->batch_first ? (b * p->steps + time) * p->directions + s->direction
                                        : (time * p->directions + s->direction) * p->batch + b;
    float *h = s->h[(step + 1) % 2] + b * p->padded + at;
    if (!here) memcpy(h, s->h[step % 2] + b * p->padded + at, n * sizeof *h);
    const size_t count = at + n > p->hidden ? p->hidden - at : n;
    float *y = all ? all + row * p->hidden + at : NULL;
    if (y && here) memcpy(y, h, count * sizeof *y);
    if (y && !here) memset(y, 0, count * sizeof *y);
    if (step + 1 < p->steps) return;
    if (last) memcpy(last + state_at(s, b) + at, h, count * sizeof *h);
    if (p->cell == RNN_CELL_LSTM && last_c)
        memcpy(last_c + state_at(s, b) + at, s->c + b * p->padded + at, count * sizeof *h);
}

void rnn_cells(const rnn_state *s, uint64_t step, bool ends, size_t at, size_t n)
{
    for (uint64_t b = 0; b < s->p->batch; b++) {
        if (step < rnn_length_of(s, b)) compute_cell(s, step, b, at, n, ends);
        if (ends) rnn_store(s, step, b, at, n);
    }
}

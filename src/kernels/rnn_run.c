/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN in float32: the products of each step. */
#include "base/cancel.h"
#include "kernels/rnn.h"

void rnn_multiply_inputs(const rnn_params *p, const kernel_run *r)
{
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const size_t units = matmul_unit_count(&p->product, t, r->parts);
    size_t from, to;
    kernel_share(&from, &to, p->directions * units, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const rnn_state s = rnn_state_of(p, r, i / units);
        const matmul_data d = {.a = r->tensors[RNN_X],
                               .packed = s.packed + p->w,
                               .b_shared = true,
                               .bias = s.packed,
                               .c = s.xw};
        matmul_unit(&p->product, t, r->parts, i % units, &d, r->scratch);
    }
}

/* With `other`, stores the product in s->other instead. */
static void multiply_to(const rnn_state *s, uint64_t step, uint64_t gate, uint64_t panel,
                        const rnn_factor *x, bool other)
{
    const rnn_params *p = s->p;
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const uint64_t column = panel * t->columns;
    const float *b = x->packed + (gate * p->padded + column) * x->depth;
    /* With lengths, the rows of one step may not be evenly spaced. */
    const uint64_t most = p->has_lengths ? 1 : t->rows;
    const uint64_t stride = p->batch_first ? p->steps * p->width : p->width;
    for (uint64_t i = 0; i < p->batch; i += most) {
        const uint64_t rows = p->batch - i < most ? p->batch - i : most;
        if (step >= rnn_length_of(s, i)) continue;
        float *to = other ? s->other + i * p->padded + column
                          : rnn_row_of(s, rnn_time_of(s, step, i), i) + gate * p->padded + column;
        matmul_tile_run(t, rows, x->depth, x->rows + i * x->step, x->step, b, to,
                        other ? p->padded : stride, !other);
    }
}

void rnn_multiply(const rnn_state *s, uint64_t step, uint64_t gate, uint64_t panel,
                  const rnn_factor *x)
{
    multiply_to(s, step, gate, panel, x, false);
}

/* Computes panels [from, to) of one direction. */
static void rnn_panels(const rnn_state *s, uint64_t step, bool second, size_t from, size_t to)
{
    const rnn_params *p = s->p;
    const size_t columns = matmul_tile_of((cpu_level)p->level)->columns;
    const bool early = rnn_resets_early(p), ends = !early || second;
    const uint64_t first = early && second ? 2 : 0, end = early && !second ? 2 : p->gates;
    const rnn_factor h = {early && second ? s->other : s->h[step % 2], p->padded, p->hidden,
                          s->packed + p->r};
    for (size_t panel = from; panel < to && !cancel_requested(); panel++)
        for (uint64_t g = first; g < end; g++)
            multiply_to(s, step, g, panel, &h, p->late_reset && g == 2);
    rnn_cells(s, step, ends, from * columns, (to - from) * columns);
}

void rnn_run(const kernel_run *r)
{
    const rnn_params *p = r->params;
    if (r->phase == 0) {
        if (r->part == 0) rnn_begin(p, r);
        rnn_multiply_inputs(p, r);
        return;
    }
    const uint32_t each = rnn_resets_early(p) ? 2 : 1, index = (r->phase - 1) / each;
    const rnn_state s = rnn_state_of(p, r, index / p->steps);
    size_t from, to;
    kernel_share(&from, &to, rnn_panel_count(p), r->part, r->parts);
    if (from < to) rnn_panels(&s, index % p->steps, (r->phase - 1) % each, from, to);
}

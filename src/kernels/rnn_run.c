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

/* Where the products of one gate's panel go. */
typedef struct target {
    float *to;
    uint64_t stride; /* from one batch entry to the next */
    bool adds;
} target;

static target target_of(const rnn_state *s, uint64_t step, uint64_t gate, uint64_t panel,
                        uint64_t b)
{
    const rnn_params *p = s->p;
    const uint64_t column = panel * matmul_tile_of((cpu_level)p->level)->columns;
    if (p->late_reset && gate == 2)
        return (target){s->other + b * p->padded + column, p->padded, false};
    return (target){rnn_row_of(s, rnn_time_of(s, step, b), b) + gate * p->padded + column,
                    p->batch_first ? p->steps * p->width : p->width, true};
}

static const float *panel_of(const rnn_params *p, const rnn_factor *x, uint64_t gate,
                             uint64_t panel)
{
    const uint64_t columns = matmul_tile_of((cpu_level)p->level)->columns;
    return x->packed + (gate * p->padded + panel * columns) * x->depth;
}

/* Multiplies rows [b, b + rows) by MATMUL_ABREAST gates' panels, which are read side by side. */
static void multiply_gates(const rnn_state *s, uint64_t step, uint64_t panel, const rnn_factor *x,
                           uint64_t b, uint64_t rows)
{
    enum { MOST = MATMUL_ABREAST * MATMUL_MAX_COLUMNS };
    const rnn_params *p = s->p;
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const size_t columns = t->columns;
    float sums[MATMUL_ABREAST_ROWS * MOST];
    t->resident[rows](x->depth, x->rows + b * x->step, x->step, panel_of(p, x, 0, panel),
                      p->padded * x->depth, sums, MOST, false);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t g = 0; g < MATMUL_ABREAST; g++) {
            const target to = target_of(s, step, g, panel, b + i);
            const float *sum = sums + i * MOST + g * columns;
            for (size_t j = 0; j < columns; j++) to.to[j] += sum[j];
        }
}

void rnn_multiply(const rnn_state *s, uint64_t step, uint64_t first, uint64_t end, uint64_t panel,
                  const rnn_factor *x)
{
    const rnn_params *p = s->p;
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    const bool abreast = end - first == MATMUL_ABREAST;
    /* With lengths, the rows of one step may not be evenly spaced. */
    const uint64_t most = p->has_lengths ? 1 : t->rows;
    for (uint64_t i = 0, rows; i < p->batch; i += rows) {
        rows = p->batch - i < most ? p->batch - i : most;
        if (step >= rnn_length_of(s, i)) continue;
        if (abreast && rows <= MATMUL_ABREAST_ROWS && t->resident[rows]) {
            multiply_gates(s, step, panel, x, i, rows);
            continue;
        }
        for (uint64_t g = first; g < end; g++) {
            const target to = target_of(s, step, g, panel, i);
            matmul_tile_run(t, rows, x->depth, x->rows + i * x->step, x->step,
                            panel_of(p, x, g, panel), to.to, to.stride, to.adds);
        }
    }
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
    for (size_t i = from; i < to && !cancel_requested(); i++)
        rnn_multiply(s, step, first, end, i, &h);
    rnn_cells(s, step, ends, from * columns, (to - from) * columns);
}

/* Computes this part's panels of both directions, which do not depend on each other. */
static void run_step(const rnn_params *p, const kernel_run *r, uint64_t step, bool second)
{
    const uint64_t panels = rnn_panel_count(p);
    size_t from, to;
    kernel_share(&from, &to, p->directions * panels, r->part, r->parts);
    for (uint64_t d = 0; d < p->directions; d++) {
        const uint64_t first = d * panels, end = first + panels;
        const rnn_state s = rnn_state_of(p, r, d);
        if (from < end && to > first)
            rnn_panels(&s, step, second, (from > first ? from : first) - first,
                       (to < end ? to : end) - first);
    }
}

void rnn_run(const kernel_run *r)
{
    const rnn_params *p = r->params;
    if (r->phase == 0) {
        if (r->part == 0) rnn_begin(p, r);
        rnn_multiply_inputs(p, r);
        return;
    }
    const uint32_t each = rnn_resets_early(p) ? 2 : 1;
    run_step(p, r, (r->phase - 1) / each, (r->phase - 1) % each);
}

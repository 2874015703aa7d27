/* SPDX-License-Identifier: Apache-2.0 */
/* DynamicQuantizeLSTM: quantising, and the products of each step. */
#include <string.h>

#include "base/cancel.h"
#include "kernels/quantize_loops.h"
#include "kernels/rnn_bytes.h"

/* ---- Rows of bytes -------------------------------------------------------------------------- */

/* Quantised rows of X or H, `groups` groups of bytes each. */
typedef struct byte_rows {
    uint8_t *bytes;
    int32_t *sums; /* of each row; set only if the matrix has zero points */
    quantize_to q;
} byte_rows;

static bool has_zeros(const float *packed, const rnn_bytes_matrix *m)
{
    int32_t has;
    memcpy(&has, packed + m->has_zeros, sizeof has);
    return has != 0;
}

static void quantise_row(const byte_rows *a, const rnn_bytes *p, const rnn_bytes_matrix *m,
                         size_t i, const float *from, bool sums)
{
    const size_t size = m->groups * INT_GROUP;
    uint8_t *to = a->bytes + i * size;
    int32_t sum = 0;
    quantize_loops_of((cpu_level)p->rnn.level)->to_8(to, from, m->depth, &a->q);
    memset(to + m->depth, 0, size - m->depth);
    for (size_t k = 0; sums && k < m->depth; k++) sum += to[k];
    if (sums) a->sums[i] = sum;
}

/* Rows of X up to the end of the longest sequence: no others are read. */
static uint64_t rows_of_x(const rnn_bytes *p, const kernel_run *r)
{
    const rnn_state s = rnn_state_of(&p->rnn, r, 0);
    uint64_t longest = 0;
    for (uint64_t b = 0; b < p->rnn.batch; b++) {
        const uint64_t n = rnn_length_of(&s, b);
        longest = n > longest ? n : longest;
    }
    return longest * p->rnn.batch;
}

static void find_range(const rnn_bytes *p, const kernel_run *r)
{
    float *ranges = (float *)((char *)r->workspace + p->at_ranges), low = 0, high = 0;
    size_t from, to;
    kernel_share(&from, &to, rows_of_x(p, r) * p->rnn.in, r->part, r->parts);
    quantize_loops_of((cpu_level)p->rnn.level)
        ->range((const float *)r->tensors[RNN_X] + from, to - from, &low, &high);
    ranges[2 * r->part] = low;
    ranges[2 * r->part + 1] = high;
}

/* X in the workspace; valid after phase 0, which finds its range. */
static byte_rows x_of(const rnn_bytes *p, const kernel_run *r)
{
    char *at = r->workspace;
    const float *ranges = (const float *)(at + p->at_ranges);
    float low = 0, high = 0;
    for (uint32_t i = 0; i < r->parts; i++) {
        low = ranges[2 * i] < low ? ranges[2 * i] : low;
        high = ranges[2 * i + 1] > high ? ranges[2 * i + 1] : high;
    }
    return (byte_rows){(uint8_t *)at + p->at_x, (int32_t *)(at + p->at_x_sums),
                       quantize_dynamic(low, high)};
}

static void quantise_x(const rnn_bytes *p, const kernel_run *r)
{
    const byte_rows a = x_of(p, r);
    bool sums = false;
    size_t from, to;
    for (uint64_t d = 0; d < p->rnn.directions; d++)
        sums |= has_zeros((const float *)r->packed + d * p->rnn.each, &p->w);
    kernel_share(&from, &to, rows_of_x(p, r), r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++)
        quantise_row(&a, p, &p->w, i, (const float *)r->tensors[RNN_X] + i * p->rnn.in, sums);
}

/* Quantises H before `step` to scratch memory. H is 0 behind the end of a sequence, whose last H
 * counts once more. */
static byte_rows quantise_h(const rnn_bytes *p, const rnn_state *s, uint64_t step)
{
    const rnn_params *n = &p->rnn;
    const quantize_loops *loops = quantize_loops_of((cpu_level)n->level);
    const float *h = s->h[step % 2];
    char *at = s->r->scratch;
    byte_rows a = {(uint8_t *)at + p->at_h, (int32_t *)(at + p->at_h_sums), {0}};
    /* What another part of this step left for the same direction. */
    struct {
        uint64_t direction;
        quantize_to q;
    } left;
    memcpy(&left, at, sizeof left);
    if (s->r->resumed && left.direction == s->direction) {
        a.q = left.q;
        return a;
    }
    float low = 0, high = 0;
    for (uint64_t b = 0; b < n->batch; b++)
        if (rnn_length_of(s, b) >= step) loops->range(h + b * n->padded, n->hidden, &low, &high);
    a.q = quantize_dynamic(low, high);
    const bool sums = has_zeros(s->packed, &p->r);
    for (uint64_t b = 0; b < n->batch; b++) quantise_row(&a, p, &p->r, b, h + b * n->padded, sums);
    left.direction = s->direction;
    left.q = a.q;
    memcpy(at, &left, sizeof left);
    return a;
}

/* ---- Products ------------------------------------------------------------------------------- */

/* A product of rows with one matrix of a direction. */
typedef struct product {
    const rnn_bytes *p;
    const rnn_bytes_matrix *m;
    const rnn_state *s;
    const byte_rows *a;
    const int_tile *tile;
    int_amx_use amx;
    int32_t *sums; /* of a tile, in scratch memory */
    bool zeros;
} product;

static product product_of(const rnn_bytes *p, const rnn_bytes_matrix *m, const rnn_state *s,
                          const byte_rows *a)
{
    return (product){.p = p,
                     .m = m,
                     .s = s,
                     .a = a,
                     .tile = int_tile_of((cpu_level)p->rnn.level),
                     .sums = (int32_t *)((char *)s->r->scratch + p->at_tile),
                     .zeros = has_zeros(s->packed, m)};
}

/* The job of rows from i on and a panel of one gate; *columns is the panel's width. */
static int_job job_of(const product *c, size_t i, uint64_t gate, uint64_t panel, size_t *columns)
{
    const rnn_bytes_matrix *m = c->m;
    const uint64_t first = rnn_bytes_first(c->p, panel);
    *columns = rnn_bytes_first(c->p, panel + 1) - first;
    return (int_job){.a = c->a->bytes + i * m->groups * INT_GROUP,
                     .b = (const uint8_t *)(c->s->packed + m->bytes +
                                            (gate * c->p->rnn.padded + first) * m->groups),
                     .tap_count = 1,
                     .groups = m->groups,
                     .a_row = m->groups * INT_GROUP,
                     .a_step = INT_GROUP,
                     .b_step = *columns * INT_GROUP,
                     .c = c->sums};
}

/* How sums of rows from i on and columns from `column` on become floats. */
static int_dynamic dynamic_of(const product *c, size_t i, uint64_t column)
{
    const float *packed = c->s->packed;
    return (int_dynamic){.sums = c->sums,
                         .sums_row = INT_MAX_COLUMNS,
                         .zero = c->a->q.zero,
                         .scale = c->a->q.scale,
                         .shifts = (const int32_t *)(packed + c->m->shifts) + column,
                         .scales = packed + c->m->scales + column,
                         .zeros =
                             c->zeros ? (const int32_t *)(packed + c->m->zeros) + column : NULL,
                         .row_sums = c->a->sums + i};
}

/* Multiplies up to `rows` rows by a panel. @return how many */
static size_t multiply(const product *c, const int_job *j, size_t rows, size_t columns)
{
    const size_t vectors = columns / c->p->lanes;
    size_t kind;
    const size_t done = int_amx_run(&c->amx, j, rows, vectors);
    if (done) return done;
    rows = int_tile_rows(c->tile, rows, &kind);
    c->tile->run[0][kind][vectors - 1](j);
    return rows;
}

static void multiply_x(const rnn_bytes *p, const kernel_run *r)
{
    const rnn_params *n = &p->rnn;
    const uint64_t all = rows_of_x(p, r), each = n->gates * p->panels * p->chunks;
    const byte_rows a = x_of(p, r);
    size_t from, to, columns;
    kernel_share(&from, &to, n->directions * each, r->part, r->parts);
    for (size_t u = from; u < to && !cancel_requested(); u++) {
        const rnn_state s = rnn_state_of(n, r, u / each);
        const uint64_t first = u % p->chunks * p->chunk, index = u / p->chunks;
        const uint64_t end = first + p->chunk < all ? first + p->chunk : all;
        const uint64_t gate = index / p->panels % n->gates, panel = index % p->panels;
        const uint64_t column = gate * n->padded + rnn_bytes_first(p, panel);
        product c = product_of(p, &p->w, &s, &a);
        if (first >= end) continue;
        c.amx = int_amx_begin((cpu_level)n->level, p->w.groups, end - first);
        for (uint64_t i = first, rows; i < end; i += rows) {
            const int_job j = job_of(&c, i, gate, panel, &columns);
            int_dynamic how = dynamic_of(&c, i, column);
            rows = multiply(&c, &j, end - i, columns);
            how.y = s.xw + i * n->width + column;
            how.y_row = n->width;
            how.more = s.packed + column;
            c.tile->dynamic_floats(&how, rows, columns);
        }
        int_amx_end(&c.amx);
    }
}

/* Multiplies a batch of one by panels [from, to) of all gates. */
static void multiply_one(const product *c, uint64_t step, uint64_t from, uint64_t to)
{
    const rnn_params *n = &c->p->rnn;
    const uint64_t first = rnn_bytes_first(c->p, from), count = rnn_bytes_first(c->p, to) - first;
    if (step >= rnn_length_of(c->s, 0)) return;
    float *row = rnn_row_of(c->s, rnn_time_of(c->s, step, 0), 0) + first;
    for (uint64_t i = from; i < to && !cancel_requested(); i++) {
        size_t columns;
        int_job j = job_of(c, 0, 0, i, &columns);
        j.c += rnn_bytes_first(c->p, i) - first;
        c->tile->four[columns / c->p->lanes - 1](&j, n->padded * c->m->groups * INT_GROUP,
                                                 n->padded);
    }
    for (uint64_t g = 0; g < n->gates; g++) {
        int_dynamic how = dynamic_of(c, 0, g * n->padded + first);
        how.sums = c->sums + g * n->padded;
        how.y = row + g * n->padded;
        how.more = how.y;
        c->tile->dynamic_floats(&how, 1, count);
    }
}

/* Adds the products of H with one panel of a gate's R to the rows of this step. */
static void multiply_rows(const product *c, uint64_t step, uint64_t gate, uint64_t panel)
{
    const rnn_params *n = &c->p->rnn;
    const uint64_t column = gate * n->padded + rnn_bytes_first(c->p, panel);
    size_t columns;
    for (uint64_t i = 0, rows; i < n->batch; i += rows) {
        const int_job j = job_of(c, i, gate, panel, &columns);
        rows = multiply(c, &j, n->batch - i, columns);
        /* With lengths, the rows of one step may not be evenly spaced. */
        const uint64_t most = n->has_lengths ? 1 : rows;
        for (uint64_t b = i; b < i + rows; b += most) {
            if (step >= rnn_length_of(c->s, b)) continue;
            int_dynamic how = dynamic_of(c, b, column);
            how.sums += (b - i) * INT_MAX_COLUMNS;
            how.y = rnn_row_of(c->s, rnn_time_of(c->s, step, b), b) + column;
            how.more = how.y;
            how.y_row = how.more_row = n->width;
            c->tile->dynamic_floats(&how, most, columns);
        }
    }
}

/* Computes panels [from, to) of one direction. */
static void run_panels(const rnn_bytes *p, const rnn_state *s, uint64_t step, uint64_t from,
                       uint64_t to)
{
    const uint64_t at = rnn_bytes_first(p, from), end = rnn_bytes_first(p, to);
    const byte_rows a = quantise_h(p, s, step);
    product c = product_of(p, &p->r, s, &a);
    if (p->rnn.batch == 1) {
        multiply_one(&c, step, from, to);
    } else {
        c.amx = int_amx_begin((cpu_level)p->rnn.level, p->r.groups, p->rnn.batch);
        for (uint64_t i = from; i < to && !cancel_requested(); i++)
            for (uint64_t g = 0; g < p->rnn.gates; g++) multiply_rows(&c, step, g, i);
        int_amx_end(&c.amx);
    }
    rnn_cells(s, step, true, at, end - at);
}

static void run_step(const rnn_bytes *p, const kernel_run *r, uint64_t step)
{
    size_t from, to;
    kernel_share(&from, &to, p->rnn.directions * p->panels, r->part, r->parts);
    for (uint64_t d = 0; d < p->rnn.directions; d++) {
        const uint64_t first = d * p->panels, end = first + p->panels;
        const rnn_state s = rnn_state_of(&p->rnn, r, d);
        if (from < end && to > first)
            run_panels(p, &s, step, (from > first ? from : first) - first,
                       (to < end ? to : end) - first);
    }
}

void rnn_bytes_run(const kernel_run *r)
{
    const rnn_bytes *p = r->params;
    if (r->phase == 0) {
        if (r->part == 0) rnn_begin(&p->rnn, r);
        find_range(p, r);
    } else if (r->phase == 1) {
        quantise_x(p, r);
    } else if (r->phase == 2) {
        multiply_x(p, r);
    } else {
        run_step(p, r, r->phase - 3);
    }
}

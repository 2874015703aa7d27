/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of query rows that lie side by side in the lanes of vectors (attention_lanes.inc): goes
 * through blocks of keys, whose scores stay in the first-level cache. */
#include <math.h>
#include <string.h>

#include "kernels/attention_rows.h"
#include "kernels/squares.h"
#include "kernels/vec_math.h"

enum { BLOCK = 128, COLUMNS = ATTENTION_ROWS, PIECE = SQUARES_TILE };

typedef struct lanes {
    const attention_rows *a;
    const attention_loops *loops;
    const vec_math *math;
    const attention_row *row;
    size_t rows, columns;        /* a column beyond the rows has a query of zeros */
    bool begun;                  /* there are sums of earlier blocks, or sinks */
    bool ranges;                 /* the rows do not all see the same keys */
    float *scores, *sum, *query; /* [BLOCK][columns], [v_size][columns], [size][columns] */
    float largest[COLUMNS], total[COLUMNS];
} lanes;

/* ---- Masks ---------------------------------------------------------------------------------- */

/* The distance of neighbouring rows if all are equally far apart, else less than 0. */
static ptrdiff_t rows_step(const float *const *rows, size_t count)
{
    const ptrdiff_t step = count > 1 ? rows[1] - rows[0] : 0;
    for (size_t l = 2; l < count; l++)
        if (rows[l] - rows[l - 1] != step) return -1;
    return step;
}

/* Puts n <= PIECE numbers of each row into columns. */
static void turn_rows(float *to, const lanes *w, const float *const *rows, ptrdiff_t step,
                      size_t from, size_t n)
{
    float tile[COLUMNS][PIECE];
    if (step > 0) {
        squares_transpose(to, w->columns, rows[0] + from, (size_t)step, w->rows, n);
        return;
    }
    for (size_t l = 0; l < w->rows; l++) memcpy(tile[l], rows[l] + from, n * sizeof(float));
    squares_transpose(to, w->columns, tile, PIECE, w->rows, n);
}

/* Adds a number for each row and key to the scores of keys [from, to). */
static void add_rows(const lanes *w, const float *const *rows, uint64_t from, uint64_t to)
{
    const ptrdiff_t step = rows_step(rows, w->rows);
    float turned[PIECE * COLUMNS];
    if (step == 0) {
        for (uint64_t j = from; j < to; j++)
            for (size_t l = 0; l < w->columns; l++)
                w->scores[(j - from) * w->columns + l] += rows[0][j];
        return;
    }
    if (w->rows < w->columns) memset(turned, 0, sizeof turned);
    for (uint64_t j = from; j < to; j += PIECE) {
        const size_t n = to - j < PIECE ? to - j : PIECE;
        turn_rows(turned, w, rows, step, j, n);
        w->loops->add(w->scores + (j - from) * w->columns, turned, n * w->columns);
    }
}

static void close_rows(const lanes *w, uint64_t from, uint64_t to)
{
    float open[PIECE * COLUMNS], bytes[COLUMNS][PIECE];
    const float *rows[COLUMNS];
    for (size_t l = 0; l < w->rows; l++) rows[l] = bytes[l];
    for (uint64_t j = from; j < to; j += PIECE) {
        const size_t n = to - j < PIECE ? to - j : PIECE;
        float *x = w->scores + (j - from) * w->columns;
        for (size_t l = 0; l < w->rows; l++)
            for (size_t k = 0; k < n; k++) bytes[l][k] = w->row[l].open[j + k];
        turn_rows(open, w, rows, PIECE, 0, n);
        for (size_t k = 0; k < n; k++)
            for (size_t l = 0; l < w->rows; l++) {
                const size_t at = k * w->columns + l;
                x[at] = open[at] != 0 ? x[at] : -INFINITY;
            }
    }
}

static uint64_t within(uint64_t x, uint64_t from, uint64_t to)
{
    return x < from ? 0 : x < to ? x - from : to - from;
}

/* Closes the keys that a row does not see. */
static void close_ranges(const lanes *w, uint64_t from, uint64_t to)
{
    int32_t first[COLUMNS] = {0}, end[COLUMNS] = {0};
    bool closed = false;
    for (size_t l = 0; l < w->rows; l++) {
        first[l] = (int32_t)within(w->row[l].from, from, to);
        end[l] = (int32_t)within(w->row[l].to, from, to);
        closed |= first[l] > 0 || (uint64_t)end[l] < to - from;
    }
    if (closed) w->loops->close(w->scores, first, end, w->columns, to - from);
}

static void lanes_mask(const lanes *w, uint64_t from, uint64_t to)
{
    const attention_row *row = w->row;
    const float *rows[COLUMNS];
    if (row->bias) {
        for (size_t l = 0; l < w->rows; l++) rows[l] = row[l].bias;
        add_rows(w, rows, from, to);
    }
    if (row->mask) {
        for (size_t l = 0; l < w->rows; l++) rows[l] = row[l].mask;
        add_rows(w, rows, from, to);
    }
    for (size_t l = 0; l < w->rows; l++)
        for (size_t j = 0; row[l].shift != 0 && j < to - from; j++)
            w->scores[j * w->columns + l] += row[l].shift;
    if (row->open) close_rows(w, from, to);
    if (w->ranges) close_ranges(w, from, to);
}

/* ---- Blocks --------------------------------------------------------------------------------- */

static void lanes_cap(const lanes *w, size_t count)
{
    const float cap = w->a->cap;
    float *x = w->scores;
    for (size_t i = 0; i < count; i++) x[i] /= cap;
    w->math->tanh(x, x, count);
    for (size_t i = 0; i < count; i++) x[i] *= cap;
}

/* Rescales earlier sums to new largest scores. */
static void lanes_rescale(lanes *w, const float *less)
{
    float factors[COLUMNS];
    bool moved = false;
    for (size_t l = 0; l < w->columns; l++) {
        factors[l] = w->largest[l] - less[l];
        moved |= factors[l] != 0;
    }
    if (!moved) return;
    w->math->exp(factors, factors, w->columns);
    for (size_t l = 0; l < w->columns; l++) w->total[l] *= factors[l];
    w->loops->scale(w->sum, factors, w->columns, w->a->v_size);
}

/* Turns scores into exponentials. A score NaN is never the largest: its exponential makes the total
 * NaN. */
static void lanes_soften(lanes *w, size_t count)
{
    float most[COLUMNS], less[COLUMNS];
    memcpy(most, w->largest, w->columns * sizeof *most);
    w->loops->largest(most, w->scores, w->columns, count);
    for (size_t l = 0; l < w->columns; l++) /* -inf: all keys so far are masked */
        less[l] = most[l] == -INFINITY ? 0 : most[l];
    if (w->begun) lanes_rescale(w, less);
    memcpy(w->largest, most, w->columns * sizeof *most);
    w->math->exp_sum_columns(w->scores, w->scores, count, w->columns, w->columns, less, w->total);
}

static void lanes_block(lanes *w, uint64_t from, uint64_t to)
{
    const attention_rows *a = w->a;
    const size_t n = to - from;
    w->loops->mix(w->scores, w->query, w->columns, n, a->size, a->keys + from * a->key_step,
                  a->key_step, 1, false);
    if (a->cap > 0) lanes_cap(w, n * w->columns);
    lanes_mask(w, from, to);
    lanes_soften(w, n);
    w->loops->mix(w->sum, w->scores, w->columns, a->v_size, n, a->values + from * a->value_step, 1,
                  a->value_step, w->begun);
    w->begun = true;
}

/* ---- Results -------------------------------------------------------------------------------- */

static void lanes_keep(const lanes *w, float *part)
{
    const size_t size = w->a->v_size;
    squares_transpose(part, size + 2, w->sum, w->columns, size, w->rows);
    for (size_t l = 0; l < w->rows; l++) {
        part[l * (size + 2) + size] = w->largest[l];
        part[l * (size + 2) + size + 1] = w->total[l];
    }
}

static void lanes_finish(const lanes *w)
{
    const size_t size = w->a->v_size;
    const float *rows[COLUMNS];
    float factors[COLUMNS];
    for (size_t l = 0; l < w->columns; l++) factors[l] = w->total[l] == 0 ? 0 : 1 / w->total[l];
    w->loops->scale(w->sum, factors, w->columns, size);
    for (size_t l = 0; l < w->rows; l++) rows[l] = w->row[l].y;
    const ptrdiff_t step = rows_step(rows, w->rows);
    if (step > 0) {
        squares_transpose(w->row->y, (size_t)step, w->sum, w->columns, size, w->rows);
        return;
    }
    float *y = w->query; /* it has been used */
    squares_transpose(y, size, w->sum, w->columns, size, w->rows);
    for (size_t l = 0; l < w->rows; l++) memcpy(w->row[l].y, y + l * size, size * sizeof *y);
}

void attention_lanes_run(const attention_rows *a, size_t first, size_t rows, float *scratch)
{
    const attention_loops *loops = attention_loops_of(a->level);
    lanes w = {.a = a, .loops = loops, .math = vec_math_of(a->level), .row = a->row + first};
    uint64_t from = UINT64_MAX, end = 0;
    w.rows = rows;
    w.columns = rows > loops->lanes ? 2 * loops->lanes : loops->lanes;
    w.scores = scratch;
    w.sum = w.scores + BLOCK * w.columns;
    w.query = w.sum + a->v_size * w.columns;
    for (size_t l = 0; l < w.columns; l++) {
        w.largest[l] = a->sinks && l < rows ? a->sinks[first + l] : -INFINITY;
        w.total[l] = a->sinks ? 1 : 0;
    }
    for (size_t l = 0; l < rows; l++) {
        if (w.row[l].from < from) from = w.row[l].from;
        if (w.row[l].to > end) end = w.row[l].to;
        w.ranges |= w.row[l].from != w.row->from || w.row[l].to != w.row->to;
    }
    if (rows < w.columns) memset(w.query, 0, a->size * w.columns * sizeof *w.query);
    squares_transpose(w.query, w.columns, a->q + first * a->size, a->size, rows, a->size);
    w.begun = a->sinks != NULL;
    if (w.begun || from >= end) memset(w.sum, 0, a->v_size * w.columns * sizeof *w.sum);
    const uint64_t count = end > from ? end - from : 0, blocks = (count + BLOCK - 1) / BLOCK;
    for (uint64_t i = 0; i < blocks; i++)
        lanes_block(&w, from + count * i / blocks, from + count * (i + 1) / blocks);
    if (a->part)
        lanes_keep(&w, a->part + first * (a->v_size + 2));
    else
        lanes_finish(&w);
}

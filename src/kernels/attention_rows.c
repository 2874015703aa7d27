/* SPDX-License-Identifier: Apache-2.0 */
/* Goes through blocks of keys: scores, their exponentials relative to the largest score so far, and
 * the weighted sum of values, which is rescaled when a larger score appears. */
#include "kernels/attention_rows.h"

#include <math.h>
#include <string.h>

#include "kernels/extent.h"
#include "kernels/vec_math.h"

/* The state of the rows between two blocks. */
typedef struct state {
    float *scores, *sum; /* [rows][ATTENTION_KEYS], [rows][v_size] */
    float largest[ATTENTION_ROWS], total[ATTENTION_ROWS];
} state;

/* The room of query rows side by side has their columns of queries, or of results, as well. */
uint64_t attention_rows_scratch(uint64_t size, uint64_t v_size)
{
    const uint64_t each =
        extent_add(extent_add(ATTENTION_KEYS, v_size), size > v_size ? size : v_size);
    return extent_mul(each, ATTENTION_ROWS);
}

static void attention_cap(const vec_math *m, float *x, size_t n, float cap)
{
    for (size_t j = 0; j < n; j++) x[j] /= cap;
    m->tanh(x, x, n);
    for (size_t j = 0; j < n; j++) x[j] *= cap;
}

static void attention_add(float *restrict x, const float *restrict y, size_t n)
{
    for (size_t j = 0; j < n; j++) x[j] += y[j];
}

/* Turns row i's scores of keys [from, to) into exponentials. */
static void attention_weight(const attention_rows *a, state *s, size_t i, uint64_t from,
                             uint64_t to)
{
    const vec_math *m = vec_math_of(a->level);
    const attention_row *row = &a->row[i];
    const uint64_t first = row->from > from ? row->from : from, end = row->to < to ? row->to : to;
    float *all = s->scores + i * ATTENTION_KEYS, *x = all + (first - from);
    float *sum = s->sum + i * a->v_size;
    if (first >= end) {
        memset(all, 0, (to - from) * sizeof *all);
        return;
    }
    const size_t n = end - first;
    if (a->cap > 0) attention_cap(m, x, n, a->cap);
    if (row->bias) attention_add(x, row->bias + first, n);
    if (row->mask) attention_add(x, row->mask + first, n);
    for (size_t j = 0; row->shift != 0 && j < n; j++) x[j] += row->shift;
    if (row->open)
        for (size_t j = 0; j < n; j++) x[j] = row->open[first + j] ? x[j] : -INFINITY;
    const float most = m->max(x, n), before = s->largest[i];
    const float now = most > before || most != most ? most : before;
    if (now == -INFINITY) { /* all keys so far are masked */
        memset(all, 0, (to - from) * sizeof *all);
        return;
    }
    memset(all, 0, (first - from) * sizeof *all);
    memset(x + n, 0, (to - end) * sizeof *x);
    const float added = m->exp_sum(x, x, n, now), factor = expf(before - now);
    s->total[i] = s->total[i] * factor + added;
    s->largest[i] = now;
    if (factor != 1)
        for (uint64_t d = 0; d < a->v_size; d++) sum[d] *= factor;
}

/* Keeps the sums of a part: the weighted values, the largest score, the denominator. */
static void attention_keep(const attention_rows *a, const state *s, size_t i)
{
    float *to = a->part + i * (a->v_size + 2);
    memcpy(to, s->sum + i * a->v_size, a->v_size * sizeof *to);
    to[a->v_size] = s->largest[i];
    to[a->v_size + 1] = s->total[i];
}

static void attention_join(const attention_rows *a, const float *parts, uint64_t count, size_t i)
{
    const size_t width = a->v_size + 2, step = a->rows * width;
    float *y = a->row[i].y, largest = a->sinks ? a->sinks[i] : -INFINITY;
    parts += i * width;
    for (uint64_t j = 0; j < count; j++) {
        const float most = parts[j * step + a->v_size];
        if (most > largest || most != most) largest = most;
    }
    const bool sinks = a->sinks && a->sinks[i] != -INFINITY;
    float total = sinks ? expf(a->sinks[i] - largest) : 0;
    memset(y, 0, a->v_size * sizeof *y);
    for (uint64_t j = 0; j < count; j++) {
        const float *part = parts + j * step;
        if (part[a->v_size] == -INFINITY) continue; /* it sees no key of this part */
        const float factor = expf(part[a->v_size] - largest);
        total += part[a->v_size + 1] * factor;
        for (uint64_t d = 0; d < a->v_size; d++) y[d] += part[d] * factor;
    }
    const float factor = total == 0 ? 0 : 1 / total;
    for (uint64_t d = 0; d < a->v_size; d++) y[d] *= factor;
}

void attention_rows_join(const attention_rows *a, const float *parts, uint64_t count)
{
    for (size_t i = 0; i < a->rows; i++) attention_join(a, parts, count, i);
}

void attention_rows_add(float *sums, const attention_rows *a, const float *part)
{
    const size_t width = a->v_size + 2;
    for (size_t i = 0; i < a->rows; i++, sums += width, part += width) {
        float *most = sums + a->v_size, *total = most + 1;
        const float found = part[a->v_size];
        if (found == -INFINITY) continue; /* it sees no key of this part */
        const float now = found > *most || found != found ? found : *most;
        const float before = expf(*most - now), factor = expf(found - now);
        for (uint64_t d = 0; d < a->v_size; d++) sums[d] = sums[d] * before + part[d] * factor;
        *total = *total * before + part[a->v_size + 1] * factor;
        *most = now;
    }
}

static void attention_finish(const attention_rows *a, const state *s, size_t i)
{
    const float *sum = s->sum + i * a->v_size;
    const float factor = s->total[i] == 0 ? 0 : 1 / s->total[i];
    float *y = a->row[i].y;
    for (uint64_t d = 0; d < a->v_size; d++) y[d] = sum[d] * factor;
}

/* Row by row: for few rows, which would leave most lanes idle. */
static void run_rows(const attention_rows *a, size_t first_row, size_t rows, float *scratch)
{
    const attention_loops *loops = attention_loops_of(a->level);
    const size_t end = first_row + rows;
    const float *q = a->q + first_row * a->size;
    state s = {.scores = scratch, .sum = scratch + ATTENTION_ROWS * ATTENTION_KEYS};
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = first_row; i < end; i++) {
        const attention_row *row = &a->row[i];
        s.largest[i] = a->sinks ? a->sinks[i] : -INFINITY;
        s.total[i] = a->sinks ? 1 : 0;
        if (row->from < first) first = row->from;
        if (row->to > last) last = row->to;
    }
    float *scores = s.scores + first_row * ATTENTION_KEYS, *sum = s.sum + first_row * a->v_size;
    memset(sum, 0, rows * a->v_size * sizeof *sum);
    for (uint64_t from = first; from < last; from += ATTENTION_KEYS) {
        const uint64_t to = last - from < ATTENTION_KEYS ? last : from + ATTENTION_KEYS;
        loops->score(scores, ATTENTION_KEYS, q, rows, a->keys + from * a->key_step, a->key_step,
                     to - from, a->size);
        for (size_t i = first_row; i < end; i++) attention_weight(a, &s, i, from, to);
        loops->weigh(sum, a->v_size, scores, ATTENTION_KEYS, rows, a->values + from * a->value_step,
                     a->value_step, to - from);
    }
    for (size_t i = first_row; i < end; i++)
        if (a->part)
            attention_keep(a, &s, i);
        else
            attention_finish(a, &s, i);
}

/* How many of `left` rows are computed together: two vectors, one, or too few for that. */
static size_t rows_together(const attention_loops *loops, size_t left)
{
    const size_t lanes = loops->lanes;
    if (left > 2 * lanes) return 2 * lanes;
    return left <= lanes || left - lanes >= loops->least || loops->least > lanes ? left : lanes;
}

void attention_rows_run(const attention_rows *a, float *scratch)
{
    const attention_loops *loops = attention_loops_of(a->level);
    size_t i = 0;
    while (i < a->rows) {
        const size_t rows = rows_together(loops, a->rows - i);
        if (rows < loops->least)
            run_rows(a, i, rows, scratch);
        else
            attention_lanes_run(a, i, rows, scratch);
        i += rows;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of a block of rows of a tree ensemble: features by columns, and outputs from sums. */
#include <string.h>

#include "kernels/forest.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* ---- Columns -------------------------------------------------------------------------------- */

/* Turns four features of four rows that lie side by side. */
static void turn_square(float *to, const float *const *from, size_t feature)
{
#if defined(__x86_64__)
    __m128 a = _mm_loadu_ps(from[0] + feature), b = _mm_loadu_ps(from[1] + feature),
           c = _mm_loadu_ps(from[2] + feature), d = _mm_loadu_ps(from[3] + feature);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to, a);
    _mm_storeu_ps(to + FOREST_ROWS, b);
    _mm_storeu_ps(to + (size_t)2 * FOREST_ROWS, c);
    _mm_storeu_ps(to + (size_t)3 * FOREST_ROWS, d);
#else
    for (size_t i = 0; i < 4; i++)
        for (size_t row = 0; row < 4; row++) to[i * FOREST_ROWS + row] = from[row][feature + i];
#endif
}

void forest_turn(float *columns, const forest_view *v, const float *x, size_t rows)
{
    const size_t count = v->p->columns, features = v->p->width;
    const size_t whole = extent_round_up(rows, FOREST_GROUP);
    for (size_t row = 0; row < whole; row += 4) {
        const float *from[4];
        for (size_t i = 0; i < 4; i++)
            from[i] = x + (row + i < rows ? row + i : rows - 1) * features;
        for (size_t c = 0; c < count; c++) {
            const uint32_t f = v->columns[c];
            float *to = columns + c * FOREST_ROWS + row;
            if (c + 3 < count && f < v->columns[c + 3] && v->columns[c + 3] - f == 3) {
                turn_square(to, from, f);
                c += 3;
                continue;
            }
            for (size_t i = 0; i < 4; i++) to[i] = from[i][f];
        }
    }
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static forest forest_of(const forest_view *v)
{
    const forest_params *p = v->p;
    return (forest){.join = (forest_join)p->join,
                    .transform = (scores_transform)p->transform,
                    .transforms_one = p->transforms_one,
                    .base = v->base,
                    .base_count = p->base_count,
                    .root_count = p->roots,
                    .target_count = p->targets};
}

static inline void put_score(const forest_params *p, void *scores, size_t i, double y)
{
    if (p->wide_scores)
        ((double *)scores)[i] = y;
    else
        ((float *)scores)[i] = (float)y;
}

void forest_finish_row(const forest_view *v, const kernel_run *r, const forest_scores *s,
                       size_t row)
{
    const forest_params *p = v->p;
    const forest f = forest_of(v);
    void *z = r->tensors[p->classifies ? 2 : 1];
    int64_t *labels = p->classifies ? r->tensors[1] : NULL;
    double *y = s->row_y;
    size_t label = 0;
    bool literal = true;
    if (!p->classifies)
        forest_finish_targets(&f, y, s->row_seen);
    else if (!forest_finish_classes(&label, &literal, &f, (forest_classes){p->one_id, p->positive},
                                    y, s->row_seen))
        kernel_fault(r);
    if (labels) labels[row] = literal ? (int64_t)label : v->labels[label];
    if (!z) return;
    for (size_t i = 0; i < p->targets; i++) put_score(p, z, row * p->targets + i, y[i]);
}

/* ---- Blocks --------------------------------------------------------------------------------- */

/* Sums of regressors without a transform; `seen` must be the same for all rows of a target. */
static void finish_targets(const forest_view *v, void *scores, const forest_scores *s, size_t from,
                           size_t rows)
{
    const forest_params *p = v->p;
    const double count = p->join == FOREST_AVERAGE ? (double)p->roots : 1;
    for (size_t t = 0; t < p->targets; t++) {
        const double *y = s->y + t * p->block;
        const bool based = p->base_count && (s->seen[t * p->block] || p->targets == 1);
        const double base = based ? v->base[t] : 0;
        const size_t at = from * p->targets + t;
        for (size_t i = 0; i < rows; i++)
            put_score(p, scores, at + i * p->targets, based ? y[i] / count + base : y[i] / count);
    }
}

/* Two classes of which the trees know the second one's score, without a transform. */
static void finish_pairs(const forest_view *v, int64_t *labels, float *z, const forest_scores *s,
                         size_t rows)
{
    const forest_params *p = v->p;
    const double *y = s->y, limit = p->positive ? 0.5 : 0, whole = p->positive ? 1 : 0;
    for (size_t i = 0; labels && i < rows; i++) labels[i] = v->labels[y[i] > limit];
    for (size_t i = 0; z && i < rows; i++) {
        z[2 * i] = (float)(p->positive ? whole - y[i] : -y[i]);
        z[2 * i + 1] = (float)y[i];
    }
}

/* Three classes and more, all with weights, without a transform. */
static void finish_classes(const forest_view *v, int64_t *labels, float *z, const forest_scores *s,
                           size_t rows)
{
    const forest_params *p = v->p;
    double best[FOREST_ROWS];
    int64_t label[FOREST_ROWS];
    for (size_t t = 0; t < p->targets; t++) {
        const double *y = s->y + t * p->block, base = p->base_count ? v->base[t] : 0;
        const int64_t own = v->labels[t];
        for (size_t i = 0; i < rows; i++) {
            const double sum = p->base_count ? y[i] + base : y[i];
            const bool more = t == 0 || sum > best[i];
            best[i] = more ? sum : best[i];
            label[i] = more ? own : label[i];
        }
        for (size_t i = 0; z && i < rows; i++)
            z[i * p->targets + t] = (float)(p->base_count ? y[i] + base : y[i]);
    }
    if (labels) memcpy(labels, label, rows * sizeof *labels);
}

static bool all_seen(const forest_params *p, const forest_scores *s)
{
    for (size_t t = 0; t < p->targets; t++)
        if (!s->seen[t * p->block]) return false;
    return true;
}

void forest_finish(const forest_view *v, const kernel_run *r, const forest_scores *s, size_t from,
                   size_t to)
{
    const forest_params *p = v->p;
    const bool plain = p->transform == SCORES_NONE && p->tables;
    if (plain && !p->classifies) {
        if (r->tensors[1]) finish_targets(v, r->tensors[1], s, from, to - from);
        return;
    }
    float *scores = p->classifies ? r->tensors[2] : NULL;
    int64_t *labels = p->classifies ? r->tensors[1] : NULL;
    float *z = scores ? scores + from * p->targets : NULL;
    if (labels) labels += from;
    if (plain && p->targets == 2 && p->one_id && !p->base_count && s->seen[0] &&
        !s->seen[p->block]) {
        finish_pairs(v, labels, z, s, to - from);
        return;
    }
    if (plain && p->targets > 2 && all_seen(p, s)) {
        finish_classes(v, labels, z, s, to - from);
        return;
    }
    for (size_t row = from; row < to; row++) {
        for (size_t t = 0; t < p->targets; t++) {
            s->row_y[t] = s->y[t * p->block + row - from];
            s->row_seen[t] = s->seen[t * p->block + row - from];
        }
        forest_finish_row(v, r, s, row);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of tree ensembles for any processor. The compiler makes vectors of them. */
#include "kernels/forest.h"

static inline void clear(uint32_t *left, const forest_test *t, size_t count, const float *columns,
                         size_t rows, bool missing)
{
    for (const forest_test *end = t + count; t < end; t++) {
        const float *x = columns + (size_t)t->column * FOREST_ROWS;
        const uint32_t keeps = ~t->clears;
        const float split = t->split;
        for (size_t i = 0; i < rows; i++) {
            const bool passes = missing ? !(x[i] > split) : x[i] <= split;
            left[i] &= passes ? UINT32_MAX : keeps;
        }
    }
}

static inline void clear_sets(uint32_t *left, const forest_test *t, size_t count,
                              const float *columns, size_t rows)
{
    for (const forest_test *end = t + count; t < end;) {
        uint32_t hits[FOREST_ROWS] = {0}, clears = 0;
        for (; t < end && !clears; t++) {
            uint32_t mask, bits;
            const float *x = columns + (size_t)t->column * FOREST_ROWS;
            memcpy(&mask, &t->split, sizeof mask);
            for (size_t i = 0; i < rows; i++) {
                memcpy(&bits, x + i, sizeof bits);
                hits[i] |= bits & mask;
            }
            clears = t->clears;
        }
        for (size_t i = 0; i < rows; i++) left[i] &= hits[i] ? UINT32_MAX : ~clears;
    }
}

static void clear_word(uint32_t *left, const forest_view *v, const forest_word *word,
                       const float *columns, size_t rows)
{
    const forest_test *t = v->tests + word->first;
    const uint32_t *counts = word->counts;
    for (size_t i = 0; i < rows; i++) left[i] = UINT32_MAX;
    clear(left, t, counts[FOREST_PLAIN], columns, rows, false);
    t += counts[FOREST_PLAIN];
    clear(left, t, counts[FOREST_MISSING], columns, rows, true);
    t += counts[FOREST_MISSING];
    clear_sets(left, t, counts[FOREST_SET], columns, rows);
}

static void forest_places(uint32_t *to, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] = forest_place_of(x[i]);
}

static void forest_spread(float *columns, const forest_view *v, size_t rows)
{
    for (size_t c = 0; c < v->p->bit_columns; c++) {
        const forest_bits_column *from = &v->bit_columns[c];
        const float *x = columns + from->column * FOREST_ROWS;
        float *to = columns + (v->p->columns + c) * FOREST_ROWS;
        for (size_t i = 0; i < rows; i++) {
            const uint32_t place = forest_place_of(x[i]);
            const uint32_t bits =
                place / FOREST_WORD == from->segment ? 1u << place % FOREST_WORD : 0;
            memcpy(to + i, &bits, sizeof bits);
        }
    }
}

static void forest_find(uint32_t *exits, const forest_view *v, const forest_tree *tree,
                        const float *columns, size_t rows)
{
    uint32_t left[FOREST_ROWS];
    for (size_t i = 0; i < rows; i++) exits[i] = 0;
    for (uint32_t w = tree->words; w-- > 0;) {
        clear_word(left, v, &v->words[tree->word + w], columns, rows);
        for (size_t i = 0; i < rows; i++)
            if (left[i]) exits[i] = w * FOREST_WORD + (uint32_t)__builtin_ctz(left[i]);
    }
}

static void forest_add(double *y, const float *values, const uint32_t *exits, size_t words,
                       size_t rows)
{
    (void)words;
    for (size_t i = 0; i < rows; i++) y[i] += (double)values[exits[i]];
}

static void forest_add_wide(double *y, const double *values, const uint32_t *exits, size_t words,
                            size_t rows)
{
    (void)words;
    for (size_t i = 0; i < rows; i++) y[i] += values[exits[i]];
}

/* Few splits are counted, without branches; more are searched. */
static void forest_rank(float *to, const double *splits, size_t count, const double *x, size_t rows)
{
    double ranks[FOREST_ROWS] = {0};
    if (count > 15) {
        for (size_t i = 0; i < rows; i++) to[i] = forest_rank_of(splits, count, x[i]);
        return;
    }
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < rows; i++) ranks[i] += splits[k] < x[i] ? 1.0 : 0.0;
    for (size_t i = 0; i < rows; i++) to[i] = x[i] == x[i] ? (float)ranks[i] : (float)x[i];
}

static inline void clear_lanes(uint32_t *left, const forest_lanes *t, size_t count, const float *x,
                               bool missing)
{
    for (const forest_lanes *end = t + count; t < end; t++) {
        for (size_t i = 0; i < FOREST_GROUP; i++) {
            const float f = x[t->column[i]], split = t->split[i];
            const bool passes = missing ? !(f > split) : f <= split;
            left[i] &= passes ? UINT32_MAX : ~t->clears[i];
        }
    }
}

static void forest_bits(uint32_t *bits, const forest_view *v, size_t group, const float *x,
                        const uint32_t *chosen)
{
    const forest_word *g = &v->groups[group];
    const forest_lanes *t = v->lanes + g->first;
    for (size_t i = 0; i < FOREST_GROUP; i++) {
        bits[i] = UINT32_MAX;
        for (size_t k = 0; k < v->p->choices; k++)
            bits[i] &= v->choice_words[chosen[k] + group * FOREST_GROUP + i];
    }
    clear_lanes(bits, t, g->counts[FOREST_PLAIN], x, false);
    clear_lanes(bits, t + g->counts[FOREST_PLAIN], g->counts[FOREST_MISSING], x, true);
}

const forest_loops forest_loops_portable = {.find = forest_find,
                                            .add = forest_add,
                                            .places = forest_places,
                                            .spread = forest_spread,
                                            .add_wide = forest_add_wide,
                                            .rank = forest_rank,
                                            .rank_row = forest_rank_row,
                                            .bits = forest_bits};

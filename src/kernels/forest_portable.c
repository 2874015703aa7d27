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

static void forest_find(uint32_t *exits, const forest_view *v, const forest_tree *tree,
                        const float *columns, size_t rows)
{
    uint32_t left[FOREST_ROWS];
    for (size_t i = 0; i < rows; i++) exits[i] = 0;
    for (uint32_t w = tree->words; w-- > 0;) {
        const forest_word *word = &v->words[tree->word + w];
        const forest_test *tests = v->tests + word->first;
        for (size_t i = 0; i < rows; i++) left[i] = UINT32_MAX;
        clear(left, tests, word->plain, columns, rows, false);
        clear(left, tests + word->plain, word->missing, columns, rows, true);
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

static void forest_bits(uint32_t *bits, const forest_view *v, size_t group, const float *x)
{
    const forest_word *g = &v->groups[group];
    const forest_lanes *t = v->lanes + g->first;
    for (size_t i = 0; i < FOREST_GROUP; i++) bits[i] = UINT32_MAX;
    clear_lanes(bits, t, g->plain, x, false);
    clear_lanes(bits, t + g->plain, g->missing, x, true);
}

const forest_loops forest_loops_portable = {forest_find, forest_add, forest_bits};

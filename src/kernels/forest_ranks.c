/* SPDX-License-Identifier: Apache-2.0 */
/* Features and thresholds of float64 as ranks in float32, so that the loops of float32 serve both.
 * Of each feature that tests use, the thresholds are sorted. Threshold k becomes 2k + 1; a feature
 * becomes the same if it is equal, else twice the number of thresholds below it. Every comparison
 * then has the same result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/forest.h"

/* ---- Making --------------------------------------------------------------------------------- */

static int compare_tests(const void *a, const void *b)
{
    const forest_node *x = *(forest_node *const *)a, *y = *(forest_node *const *)b;
    if (x->feature != y->feature) return x->feature < y->feature ? -1 : 1;
    return (x->split > y->split) - (x->split < y->split);
}

/* The tests with a threshold that is a number, sorted by feature and threshold. */
static size_t sorted_tests(forest_node **tests, const forest *f)
{
    size_t count = 0;
    for (size_t i = 0; i < f->node_count; i++)
        if (f->nodes[i].mode != FOREST_LEAF && !isnan(f->nodes[i].split))
            tests[count++] = &f->nodes[i];
    if (count) qsort(tests, count, sizeof *tests, compare_tests);
    return count;
}

/* Nothing compares with NaN; such a test may use any column. */
static void settle_rest(forest *f)
{
    for (size_t i = 0; i < f->node_count; i++)
        if (f->nodes[i].mode != FOREST_LEAF && isnan(f->nodes[i].split)) f->nodes[i].feature = 0;
}

bool forest_needs_ranks(const kernel_problem *u)
{
    bool wide = u->inputs[0].dtype == PGY_F64;
    for (size_t i = 0; i < u->node->attr_count; i++) {
        const op_attr *a = &u->node->attrs[i];
        wide |= a->kind == OP_ATTR_TENSOR && a->tensor_dtype != PGY_F32 &&
                !strstr(a->name, "hitrates") && !strstr(a->name, "base");
    }
    return wide;
}

bool forest_ranks_make(forest_ranks *r, forest *f)
{
    forest_node **tests = mem_calloc(f->node_count + 1, sizeof *tests);
    r->features = mem_calloc(f->node_count + 1, sizeof *r->features);
    r->first = mem_calloc(f->node_count + 2, sizeof *r->first);
    r->splits = mem_calloc(f->node_count + 1, sizeof *r->splits);
    const bool made = tests && r->features && r->first && r->splits;
    const size_t count = made ? sorted_tests(tests, f) : 0;
    uint32_t feature = 0;
    if (made) settle_rest(f);
    for (size_t i = 0; i < count; i++) {
        if (!i || tests[i]->feature != feature) {
            feature = tests[i]->feature;
            r->features[r->columns] = feature;
            r->first[r->columns++] = (uint32_t)r->count;
        }
        if (r->count == r->first[r->columns - 1] || r->splits[r->count - 1] != tests[i]->split)
            r->splits[r->count++] = tests[i]->split;
        tests[i]->feature = (uint32_t)r->columns - 1;
        tests[i]->split = 2 * (double)(r->count - r->first[r->columns - 1]) - 1;
    }
    if (made && !r->columns) r->columns = 1; /* of feature 0, without thresholds */
    if (made) r->first[r->columns] = (uint32_t)r->count;
    mem_free(tests);
    return made;
}

void forest_ranks_free(forest_ranks *r)
{
    mem_free(r->features);
    mem_free(r->first);
    mem_free(r->splits);
}

/* ---- Running -------------------------------------------------------------------------------- */

enum { FEW = 12 };

static float rank_of(const double *splits, size_t count, double x)
{
    size_t at = 0;
    if (isnan(x)) return NAN;
    if (!count) return 0;
    for (size_t n = count, half; n > 1; n -= half) {
        half = n / 2;
        at += splits[at + half - 1] < x ? half : 0;
    }
    at += splits[at] < x;
    return (float)(2 * at + (at < count && splits[at] == x));
}

/* The same for a block of rows and few thresholds: those below and those not above are counted,
 * which are comparisons without branches. */
static void rank_few(double *ranks, const double *splits, size_t count, const double *x,
                     size_t rows)
{
    for (size_t row = 0; row < rows; row++) ranks[row] = isnan(x[row]) ? (double)NAN : 0;
    for (size_t k = 0; k < count; k++) {
        const double split = splits[k];
        for (size_t row = 0; row < rows; row++)
            ranks[row] += (split < x[row] ? 1.0 : 0.0) + (split <= x[row] ? 1.0 : 0.0);
    }
}

/* Rows are at most a block. */
void forest_rank(float *to, const forest_view *v, const void *x, size_t from, size_t rows)
{
    const forest_params *p = v->p;
    const double *doubles = x;
    const float *floats = x;
    double own[FOREST_ROWS], ranks[FOREST_ROWS];
    for (size_t c = 0; c < p->width; c++) {
        const double *splits = v->splits + v->rank_first[c];
        const size_t count = v->rank_first[c + 1] - v->rank_first[c];
        for (size_t row = 0; row < rows; row++) {
            const size_t at = (from + row) * p->features + v->rank_features[c];
            own[row] = p->doubles ? doubles[at] : (double)floats[at];
        }
        if (count <= FEW) rank_few(ranks, splits, count, own, rows);
        for (size_t row = 0; row < rows; row++)
            to[row * p->width + c] =
                count <= FEW ? (float)ranks[row] : rank_of(splits, count, own[row]);
    }
}

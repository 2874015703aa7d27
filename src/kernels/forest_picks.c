/* SPDX-License-Identifier: Apache-2.0 */
/* Features that are not float32 numbers as such: of those that tests use, a block gets columns.
 * Integers become float32. Float64 features, or thresholds, become ranks, which float32 holds: the
 * thresholds of a feature are sorted, threshold k becomes k, and a feature the number of thresholds
 * below it, so x <= threshold if and only if rank <= k. `<` and `>=` test the number before the
 * threshold; `==` is rank k if the number before the threshold is one, too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/forest.h"

/* ---- Making --------------------------------------------------------------------------------- */

enum { NOBODY = UINT32_MAX };

/* What a node compares a feature with. A value of NaN: the node needs the column, but no rank. */
typedef struct threshold {
    double value;
    uint32_t feature, node; /* node: NOBODY if only ranks need it */
} threshold;

static int compare_thresholds(const void *a, const void *b)
{
    const threshold *x = a, *y = b;
    if (x->feature != y->feature) return x->feature < y->feature ? -1 : 1;
    if (isnan(x->value) || isnan(y->value)) return isnan(x->value) - isnan(y->value);
    return (x->value > y->value) - (x->value < y->value);
}

/* Lists the thresholds whose ranks node n tests, and turns < into <= and >= into > of the number
 * before. A test that all numbers pass, or none, gets a rank that no number has. */
static size_t add_test(threshold *to, forest_node *n, uint32_t node)
{
    const double before = nextafter(n->split, -INFINITY);
    const bool least = n->split == -INFINITY;
    to[0] = (threshold){n->split, n->feature, node};
    if (n->mode == FOREST_EQ || n->mode == FOREST_NEQ) {
        to[1] = (threshold){least || isnan(n->split) ? (double)NAN : before, n->feature, NOBODY};
        return 2;
    }
    if (n->mode == FOREST_LEQ || n->mode == FOREST_GT) return 1;
    n->mode = n->mode == FOREST_LT ? FOREST_LEQ : FOREST_GT;
    to[0].value = before;
    if (!least) return 1;
    n->split = -1;
    to[0].value = (double)NAN;
    return 1;
}

static size_t list_tests(threshold *to, forest *f, bool ranked)
{
    size_t count = 0;
    for (size_t i = 0; i < f->node_count; i++) {
        forest_node *n = &f->nodes[i];
        if (n->mode == FOREST_LEAF) continue;
        if (ranked)
            count += add_test(to + count, n, (uint32_t)i);
        else
            to[count++] = (threshold){(double)NAN, n->feature, (uint32_t)i};
    }
    if (count) qsort(to, count, sizeof *to, compare_thresholds);
    return count;
}

/* A column has 2^k - 1 splits: infinities are behind the last one. */
static void end_column(forest_picks *r)
{
    size_t room = 1;
    while (room - 1 < r->count - r->first[r->columns - 1]) room *= 2;
    const size_t end = r->first[r->columns - 1] + room - 1;
    while (r->count < end) r->splits[r->count++] = INFINITY;
}

static void add_threshold(forest_picks *r, forest *f, const threshold *t)
{
    if (!r->columns || r->features[r->columns - 1] != t->feature) {
        if (r->columns) end_column(r);
        r->first[r->columns] = (uint32_t)r->count;
        r->features[r->columns++] = t->feature;
    }
    const uint32_t first = r->first[r->columns - 1];
    if (!isnan(t->value) && (r->count == first || r->splits[r->count - 1] != t->value))
        r->splits[r->count++] = t->value;
    if (t->node == NOBODY) return;
    f->nodes[t->node].feature = (uint32_t)r->columns - 1;
    if (!isnan(t->value)) f->nodes[t->node].split = (double)(r->count - first - 1);
}

bool forest_picks_make(forest_picks *r, forest *f, bool ranked)
{
    const size_t most = 2 * f->node_count + 2;
    threshold *tests = mem_calloc(most, sizeof *tests);
    r->features = mem_calloc(most, sizeof *r->features);
    r->first = mem_calloc(most, sizeof *r->first);
    r->splits = mem_calloc(2 * most, sizeof *r->splits);
    const bool made = tests && r->features && r->first && r->splits;
    const size_t count = made ? list_tests(tests, f, ranked) : 0;
    for (size_t i = 0; i < count; i++) add_threshold(r, f, &tests[i]);
    if (made && r->columns) end_column(r);
    if (made && !r->columns) r->columns = 1; /* of feature 0, without thresholds */
    if (made) r->first[r->columns] = (uint32_t)r->count;
    mem_free(tests);
    return made;
}

void forest_picks_free(forest_picks *r)
{
    mem_free(r->features);
    mem_free(r->first);
    mem_free(r->splits);
}

bool forest_needs_ranks(const kernel_problem *u)
{
    bool wide = u->inputs[0].dtype == PGY_F64;
    for (size_t i = 0; i < u->node->attr_count; i++) {
        const op_attr *a = &u->node->attrs[i];
        wide |= a->kind == OP_ATTR_TENSOR && a->tensor_dtype == PGY_F64 &&
                !strstr(a->name, "hitrates") && !strstr(a->name, "base");
    }
    return wide;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Integers are rounded to float32, as the definition does. */
static double number_at(const void *x, uint32_t type, size_t i)
{
    switch (type) {
    case PGY_F64: return ((const double *)x)[i];
    case PGY_I64: return (double)(float)((const int64_t *)x)[i];
    case PGY_I32: return (double)(float)((const int32_t *)x)[i];
    default: return (double)((const float *)x)[i];
    }
}

/* Numbers that are `stride` apart. */
static void take(double *to, const void *x, uint32_t type, size_t at, size_t stride, size_t count)
{
    if (type == PGY_F64)
        for (size_t i = 0; i < count; i++) to[i] = number_at(x, PGY_F64, at + i * stride);
    else if (type == PGY_I64)
        for (size_t i = 0; i < count; i++) to[i] = number_at(x, PGY_I64, at + i * stride);
    else if (type == PGY_I32)
        for (size_t i = 0; i < count; i++) to[i] = number_at(x, PGY_I32, at + i * stride);
    else
        for (size_t i = 0; i < count; i++) to[i] = number_at(x, PGY_F32, at + i * stride);
}

static void narrow(float *to, const double *from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] = (float)from[i];
}

/* Rows are at most a block; the last one fills up the group. */
void forest_pick(float *to, float *columns, const forest_view *v, const forest_loops *loops,
                 const void *x, size_t from, size_t rows)
{
    const forest_params *p = v->p;
    const size_t whole = extent_round_up(rows, FOREST_GROUP);
    double own[FOREST_ROWS];
    float turned[FOREST_ROWS];
    for (size_t c = 0; c < p->width; c++) {
        float *column = columns ? columns + c * FOREST_ROWS : turned;
        const uint32_t *first = v->pick_first + c;
        take(own, x, p->type, from * p->features + v->pick_features[c], p->features, rows);
        for (size_t i = rows; i < whole; i++) own[i] = own[rows - 1];
        if (p->ranked)
            loops->rank(column, v->splits + first[0], first[1] - first[0], own, whole);
        else
            narrow(column, own, whole);
        for (size_t i = 0; to && i < rows; i++) to[i * p->width + c] = column[i];
    }
}

void forest_pick_row(float *to, const forest_view *v, const forest_loops *loops, const void *x,
                     size_t row)
{
    const forest_params *p = v->p;
    double own[FOREST_ROWS];
    for (size_t c = 0; c < p->width; c += FOREST_ROWS) {
        const size_t count = p->width - c < FOREST_ROWS ? p->width - c : FOREST_ROWS;
        for (size_t i = 0; i < count; i++)
            own[i] = number_at(x, p->type, row * p->features + v->pick_features[c + i]);
        if (p->ranked)
            loops->rank_row(to + c, v, c, own, count);
        else
            narrow(to + c, own, count);
    }
}

void forest_rank_row(float *to, const forest_view *v, size_t column, const double *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t *first = v->pick_first + column + i;
        to[i] = forest_rank_of(v->splits + first[0], first[1] - first[0], x[i]);
    }
}

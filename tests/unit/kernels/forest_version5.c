/* SPDX-License-Identifier: Apache-2.0 */
/* TreeEnsemble of version 5, against the reference definition: all tests, also for membership in
 * sets of all sizes, in all types. */
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/reference_case.h"
#include "tensor/convert.h"

enum { MOST = 4096, MOST_TREES = 20, MEMBER = 6 };

/* Numbers that tests and features have: first + step * [0, count). */
typedef struct grid {
    double first, step;
    uint32_t count;
} grid;

typedef struct shape {
    pgy_dtype type;
    grid numbers;
    uint32_t trees, depth, stop, features, set;
    int64_t targets;
    int one; /* mode of all tests; negative: any */
} shape;

typedef struct lists {
    const shape *s;
    uint64_t state;
    int64_t features[MOST], missing[MOST], next[2][MOST], leaf[2][MOST], targets[MOST];
    int64_t roots[MOST_TREES];
    double modes[MOST], splits[MOST], weights[MOST], members[8 * MOST];
    size_t nodes, leaves, member_count;
} lists;

static uint32_t below(lists *l, uint32_t limit)
{
    l->state = l->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(l->state >> 33) % limit;
}

static double number(lists *l)
{
    const grid *g = &l->s->numbers;
    return g->first + g->step * below(l, g->count);
}

static int64_t put_leaf(lists *l)
{
    l->targets[l->leaves] = below(l, (uint32_t)l->s->targets);
    l->weights[l->leaves] = ((int)below(l, 65) - 32) / 16.0;
    return (int64_t)l->leaves++;
}

/* Nodes have the order of their sets, so a node comes before its children. */
static int64_t put_node(lists *l, uint32_t depth)
{
    const size_t i = l->nodes++;
    l->modes[i] = l->s->one >= 0 ? l->s->one : (int)below(l, 7);
    l->features[i] = below(l, l->s->features);
    l->missing[i] = below(l, 2);
    l->splits[i] = below(l, 40) ? number(l) : (double)NAN;
    if (l->modes[i] == MEMBER) {
        for (uint32_t k = below(l, l->s->set); k > 0; k--)
            l->members[l->member_count++] = number(l);
        l->members[l->member_count++] = (double)NAN;
    }
    for (int side = 0; side < 2; side++) {
        l->leaf[side][i] = depth == 0 || below(l, l->s->stop) == 0 || l->nodes > MOST - 64;
        l->next[side][i] = l->leaf[side][i] ? put_leaf(l) : put_node(l, depth - 1);
    }
    return (int64_t)i;
}

static void fill_features(lists *l, void *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double near =
            number(l) - (below(l, 3) ? 0 : l->s->numbers.count / 2) * l->s->numbers.step;
        const double v = below(l, 9) ? near : (double)NAN;
        if (l->s->type == PGY_F64) ((double *)x)[i] = below(l, 4) ? v : nextafter(v, 0);
        if (l->s->type == PGY_F32) ((float *)x)[i] = (float)v;
        if (l->s->type == PGY_F16) ((uint16_t *)x)[i] = f16_from_f64(v);
    }
}

static void put_attributes(reference_case *c, lists *l, bool missing)
{
    static const char *const NEXT[] = {"nodes_falsenodeids", "nodes_truenodeids"};
    static const char *const LEAF[] = {"nodes_falseleafs", "nodes_trueleafs"};
    const pgy_dtype type = l->s->type;
    reference_attr_ints(c, "tree_roots", l->roots, l->s->trees);
    reference_attr_ints(c, "nodes_featureids", l->features, l->nodes);
    reference_attr_tensor(c, "nodes_modes", PGY_U8, l->modes, l->nodes);
    reference_attr_tensor(c, "nodes_splits", type, l->splits, l->nodes);
    for (int side = 0; side < 2; side++) {
        reference_attr_ints(c, NEXT[side], l->next[side], l->nodes);
        reference_attr_ints(c, LEAF[side], l->leaf[side], l->nodes);
    }
    reference_attr_ints(c, "leaf_targetids", l->targets, l->leaves);
    reference_attr_tensor(c, "leaf_weights", type, l->weights, l->leaves);
    reference_attr_tensor(c, "membership_values", type, l->members, l->member_count);
    reference_attr_int(c, "n_targets", l->s->targets);
    if (missing) reference_attr_ints(c, "nodes_missing_value_tracks_true", l->missing, l->nodes);
}

static void run(const shape *s, int rounds)
{
    static lists l;
    static reference_case c;
    for (int round = 0; round < rounds; round++) {
        const uint32_t rows = round % 3 ? 1 + (uint32_t)round % 9 : 20 + (uint32_t)round % 64;
        char text[32];
        l = (lists){.s = s, .state = (uint64_t)round + 1};
        for (uint32_t i = 0; i < s->trees; i++) l.roots[i] = put_node(&l, s->depth);
        reference_start(&c, "ai.onnx.ml", "TreeEnsemble", 5);
        put_attributes(&c, &l, round % 4 > 0);
        reference_attr_int(&c, "aggregate_function", below(&l, 4));
        reference_attr_int(&c, "post_transform", round % 5 ? 0 : below(&l, 4));
        snprintf(text, sizeof text, "%u %u", rows, s->features);
        fill_features(&l, reference_input(&c, s->type, text), (size_t)rows * s->features);
        const double tolerance = round % 5 == 0 ? 1e-6 : 0;
        assert_true(reference_run(&c, 1, s->type == PGY_F16 ? 1e-3 : tolerance) >= 1);
    }
}

static void test_forest_version5__small_trees(void **state)
{
    static const grid NATURAL = {0, 1, 31}, WHOLE = {-3, 1, 20}, QUARTERS = {-2, 0.25, 17},
                      LARGE = {-64, 64, 90};
    (void)state;
    for (int one = -1; one <= MEMBER; one++) {
        run(&(shape){PGY_F32, NATURAL, 9, 3, 4, 5, 6, 1, one}, 24);
        run(&(shape){PGY_F32, WHOLE, 9, 3, 4, 5, 6, 1, one}, 12);
        run(&(shape){PGY_F32, QUARTERS, 9, 3, 4, 5, 6, 2, one}, 24);
        run(&(shape){PGY_F64, WHOLE, 18, 4, 9, 9, 6, 1, one}, 24);
        run(&(shape){PGY_F64, QUARTERS, 5, 4, 9, 4, 6, 3, one}, 24);
        run(&(shape){PGY_F32, LARGE, 5, 4, 9, 40, 20, 1, one}, 12);
        run(&(shape){PGY_F16, QUARTERS, 5, 4, 9, 4, 6, 2, one}, 8);
    }
}

static void test_forest_version5__large_trees(void **state)
{
    static const grid NATURAL = {0, 1, 63}, WHOLE = {-3, 1, 45}, QUARTERS = {-2, 0.25, 17},
                      LARGE = {0, 4096, 600};
    (void)state;
    for (int one = -1; one <= MEMBER; one += 1 + (one >= 0 && one < 4)) {
        run(&(shape){PGY_F32, NATURAL, 3, 9, 30, 5, 12, 1, one}, 12);
        run(&(shape){PGY_F32, WHOLE, 3, 9, 30, 5, 12, 1, one}, 6);
        run(&(shape){PGY_F64, QUARTERS, 2, 7, 30, 33, 12, 2, one}, 12);
        run(&(shape){PGY_F32, LARGE, 2, 7, 30, 6, 30, 1, one}, 6);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble. The upper part of a tree,
 * or all of it, is swept (forest.h): all its tests are made for 16 rows at a time or, for a single
 * row, for 16 words of tests. Below it rows walk: nodes take 16 bytes, and children lie behind
 * their parents, so a walk ends; eight walks are interleaved, because each step waits for two
 * loads. The weights of a row are added in the order of the trees in float64, so results do not
 * depend on threads or on the way to the leaves. */
#include "kernels/forest.h"

#include <string.h>

#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/forest_walk.h"

/* ---- Scores --------------------------------------------------------------------------------- */

static inline double joined(uint32_t how, double a, double b, bool seen)
{
    if (how == FOREST_MIN) return !seen || b < a ? b : a;
    if (how == FOREST_MAX) return !seen || b > a ? b : a;
    return a + b;
}

/* Adds the weights of the leaf at `at` to the scores of a row, which are `stride` apart. */
static inline void add_leaf(const forest_view *v, uint32_t at, double *y, bool *seen, size_t stride)
{
    const forest_params *p = v->p;
    const forest_step *leaf = &v->nodes[at];
    uint32_t k;
    memcpy(&k, &leaf->split, sizeof k);
    if (p->targets == 1) {
        const bool found = !p->ranked || k < p->leaves;
        const double value = p->ranked ? v->weights[found ? k : 0].value : (double)leaf->split;
        *y = joined(p->join, *y, value, *seen);
        *seen = true;
        return;
    }
    if (k >= p->leaves) return; /* a plan may claim a wrong depth, so this may be no leaf */
    for (uint32_t i = v->ranges[k]; i < v->ranges[k + 1]; i++) {
        const forest_share *w = &v->weights[i];
        double *sum = &y[w->target * stride];
        *sum = joined(p->join, *sum, w->value, seen[w->target * stride]);
        seen[w->target * stride] = true;
    }
}

/* Adds the weights that all leaves have for `count` targets from `first` on, in registers: sums in
 * memory would wait for each other's stores. */
static inline __attribute__((always_inline)) void sum_some(const forest_view *v, double *y,
                                                           const uint32_t *leaves, size_t first,
                                                           size_t count)
{
    const forest_params *p = v->p;
    double sums[4] = {0};
    for (size_t i = 0; i < p->roots; i++) {
        if (leaves[i] >= p->nodes) continue;
        const forest_step *leaf = &v->nodes[leaves[i]];
        const uint32_t k = forest_split_bits(leaf);
        if (count == 1 && !p->ranked && p->targets == 1) {
            sums[0] += (double)leaf->split;
            continue;
        }
        if (k >= p->leaves) continue;
        const forest_share *w = v->weights + k * p->targets + first;
#pragma GCC unroll 4
        for (size_t t = 0; t < count; t++) sums[t] += w[t].value;
    }
    memcpy(y + first, sums, count * sizeof *sums);
}

/* The sums of one row, if each leaf has one weight for each target. */
static void sum_dense(const forest_view *v, double *y, bool *seen, const uint32_t *leaves)
{
    const size_t targets = v->p->targets;
    memset(seen, true, targets * sizeof *seen);
    for (size_t t = 0; t < targets; t += 4) {
        switch (targets - t) {
        case 1: sum_some(v, y, leaves, t, 1); break;
        case 2: sum_some(v, y, leaves, t, 2); break;
        case 3: sum_some(v, y, leaves, t, 3); break;
        default: sum_some(v, y, leaves, t, 4); break;
        }
    }
}

/* Scratch memory: picked numbers, their places, columns, scores. */
static uint32_t *places_of(const forest_params *p, void *scratch)
{
    return (uint32_t *)scratch + (forest_picks_rows(p) ? p->block * p->width : 0);
}

static float *columns_of(const forest_params *p, void *scratch)
{
    return (float *)(places_of(p, scratch) + (forest_walks_sets(p) ? p->block * p->width : 0));
}

static forest_scores scores_of(const forest_params *p, void *scratch)
{
    forest_scores s;
    s.y = (double *)(columns_of(p, scratch) + (p->columns + p->bit_columns) * FOREST_ROWS);
    s.row_y = s.y + p->block * p->targets;
    s.seen = (bool *)(s.row_y + p->targets);
    s.row_seen = s.seen + p->block * p->targets;
    return s;
}

/* ---- Many rows ------------------------------------------------------------------------------ */

/* Walks `rows` rows on from the nodes `at`, which are at least `depth` steps above the leaves. */
static void walk_block(const forest_view *v, const float *x, const uint32_t *places, uint32_t *at,
                       uint32_t depth, size_t rows)
{
    for (size_t row = 0; row < rows; row += FOREST_LANES) {
        forest_rows lanes;
        for (size_t i = 0; i < FOREST_LANES; i++) {
            const size_t from = (row + i < rows ? row + i : rows - 1) * v->p->width;
            lanes.x[i] = x + from;
            lanes.places[i] = v->p->sets ? places + from : NULL;
        }
        forest_walk(v, at + row, &lanes, depth, false);
    }
}

/* The leaves of `rows` rows in a tree. */
static void find_rows(const forest_view *v, const forest_loops *loops, const forest_tree *tree,
                      const float *x, const uint32_t *places, const float *columns, uint32_t *at,
                      size_t rows)
{
    const size_t whole = extent_round_up(rows, FOREST_GROUP);
    const uint32_t *exits = v->exits + (size_t)tree->word * FOREST_WORD;
    if (tree->words) loops->find(at, v, tree, columns, whole);
    for (size_t i = 0; i < whole; i++) at[i] = tree->words ? exits[at[i]] : tree->root;
    if (!tree->whole) walk_block(v, x, places, at, tree->words ? 0 : tree->depth, rows);
}

/* Adds what a tree with tables gives to `rows` rows. */
static void add_tables(const forest_view *v, const forest_loops *loops, const forest_tree *tree,
                       const uint32_t *exits, const forest_scores *s, size_t rows)
{
    const size_t block = v->p->block;
    const size_t whole = extent_round_up(rows, FOREST_GROUP);
    for (uint32_t k = tree->table; k < tree->table + tree->tables; k++) {
        const forest_table *t = &v->tables[k];
        double *y = s->y + t->target * block;
        if (v->p->ranked)
            loops->add_wide(y, v->wide_values + t->first, exits, tree->words, whole);
        else
            loops->add(y, v->values + t->first, exits, tree->words, whole);
        if (!s->seen[t->target * block]) memset(s->seen + t->target * block, true, rows);
    }
}

/* Rows [from, to) of the input, as tests use them, with their columns and scores. */
typedef struct block {
    size_t from, to;
    const float *x;
    const float *columns;
    const uint32_t *places;
    forest_scores s;
} block;

static void enter_block(block *b, const forest_view *v, const forest_loops *loops,
                        const kernel_run *r, void *scratch)
{
    const forest_params *p = v->p;
    const size_t rows = b->to - b->from;
    float *columns = columns_of(p, scratch);
    uint32_t *places = places_of(p, scratch);
    b->x = p->picked ? scratch : (const float *)r->tensors[0] + b->from * p->features;
    b->columns = columns;
    b->places = places;
    b->s = scores_of(p, scratch);
    if (p->picked)
        forest_pick(p->whole ? NULL : scratch, p->columns ? columns : NULL, v, loops, r->tensors[0],
                    b->from, rows);
    else if (p->columns)
        forest_turn(columns, v, b->x, rows);
    loops->spread(columns, v, extent_round_up(rows, FOREST_GROUP));
    if (forest_walks_sets(p)) loops->places(places, b->x, rows * p->width);
    memset(b->s.y, 0, p->block * p->targets * sizeof *b->s.y);
    memset(b->s.seen, 0, p->block * p->targets * sizeof *b->s.seen);
}

static void add_tree(const forest_view *v, const forest_loops *loops, const forest_tree *tree,
                     const block *b)
{
    const forest_params *p = v->p;
    const size_t rows = b->to - b->from;
    uint32_t at[FOREST_ROWS + FOREST_LANES];
    if (p->tables) {
        loops->find(at, v, tree, b->columns, extent_round_up(rows, FOREST_GROUP));
        add_tables(v, loops, tree, at, &b->s, rows);
        return;
    }
    find_rows(v, loops, tree, b->x, b->places, b->columns, at, rows);
    if (p->targets == 1 && !p->ranked && p->join < FOREST_MIN) {
        for (size_t k = 0; k < rows; k++) b->s.y[k] += (double)v->nodes[at[k]].split;
        memset(b->s.seen, true, rows * sizeof *b->s.seen);
        return;
    }
    for (size_t k = 0; k < rows; k++) add_leaf(v, at[k], b->s.y + k, b->s.seen + k, p->block);
}

/* Rows [from, to) are at most one block. */
static void run_block(const forest_view *v, const forest_loops *loops, const kernel_run *r,
                      size_t from, size_t to)
{
    block b = {.from = from, .to = to};
    enter_block(&b, v, loops, r, r->scratch);
    for (size_t i = 0; i < v->p->roots && !cancel_requested(); i++)
        add_tree(v, loops, &v->trees[i], &b);
    forest_finish(v, r, &b.s, from, to);
}

/* ---- Few rows ------------------------------------------------------------------------------- */

/* The least depth of trees from `tree` on, without sweeps, as in walk_lanes. */
static uint32_t least_depth(const forest_view *v, size_t tree)
{
    uint32_t depth = v->trees[tree].depth;
    for (size_t i = tree + 1; i < v->p->roots && i < tree + FOREST_GROUP; i++) {
        const uint32_t own = v->trees[i].depth;
        if (own == depth) continue;
        const uint32_t a = own % FOREST_EVEN, b = depth % FOREST_EVEN;
        depth = a < b ? a : b;
    }
    return depth;
}

/* Finds the leaves of one row in the trees of a group. */
static void find_leaves(const forest_view *v, const forest_loops *loops, const forest_rows *row,
                        const uint32_t *chosen, uint32_t *leaves, size_t group)
{
    const forest_params *p = v->p;
    const size_t first = group * FOREST_GROUP;
    uint32_t bits[FOREST_GROUP];
    if (p->groups) loops->bits(bits, v, group, row->x[0], chosen);
    for (size_t i = 0; i < FOREST_GROUP; i++) {
        const size_t tree = first + i < p->roots ? first + i : first;
        const uint32_t exit = p->groups ? (uint32_t)__builtin_ctz(bits[i] | 1u << 31) : 0;
        leaves[first + i] = p->groups ? v->exits[tree * FOREST_WORD + exit] : v->trees[tree].root;
    }
    if (p->whole) return;
    forest_walk(v, leaves + first, row, p->groups ? 0 : least_depth(v, first), true);
}

/* One row as tests use it. */
static forest_rows read_row(const forest_view *v, const forest_loops *loops, const kernel_run *r,
                            size_t row)
{
    const forest_params *p = v->p;
    uint32_t *places = places_of(p, r->scratch);
    forest_rows own = {.x = {r->scratch}, .places = {places}};
    if (p->picked)
        forest_pick_row(r->scratch, v, loops, r->tensors[0], row);
    else
        own.x[0] = (const float *)r->tensors[0] + row * p->features;
    if (forest_walks_sets(p)) loops->places(places, own.x[0], p->width);
    return own;
}

/* Few rows: the first phase finds the leaves, the second adds their weights. */
static void run_trees(const forest_view *v, const forest_loops *loops, const kernel_run *r)
{
    const forest_params *p = v->p;
    const size_t found = forest_found(p), groups = found / FOREST_GROUP;
    uint32_t *leaves = r->workspace;
    uint32_t chosen[FOREST_MOST_CHOICES];
    size_t from, to;
    if (r->phase == 0) {
        kernel_share(&from, &to, groups, r->part, r->parts);
        for (size_t row = 0; from < to && row < p->rows; row++) {
            const forest_rows own = read_row(v, loops, r, row);
            forest_choose(chosen, v, own.x[0]);
            for (size_t i = from; i < to && !cancel_requested(); i++)
                find_leaves(v, loops, &own, chosen, leaves + row * found, i);
        }
        return;
    }
    kernel_share(&from, &to, p->rows, r->part, r->parts);
    const forest_scores s = scores_of(p, r->scratch);
    for (size_t row = from; row < to; row++) {
        const uint32_t *own = leaves + row * found;
        memset(s.row_y, 0, p->targets * sizeof *s.row_y);
        memset(s.row_seen, 0, p->targets * sizeof *s.row_seen);
        if (p->dense && p->join < FOREST_MIN)
            sum_dense(v, s.row_y, s.row_seen, own);
        else
            for (size_t i = 0; i < p->roots; i++)
                if (own[i] < p->nodes) add_leaf(v, own[i], s.row_y, s.row_seen, 1);
        forest_finish_row(v, r, &s, row);
    }
}

static const forest_loops *forest_loops_of(uint32_t level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &forest_loops_avx512;
    if (level >= CPU_AVX2) return &forest_loops_avx2;
#endif
    (void)level;
    return &forest_loops_portable;
}

static void forest_run(const kernel_run *r)
{
    const forest_view v = forest_view_of(r->params);
    const forest_params *p = v.p;
    const forest_loops *loops = forest_loops_of(p->level);
    if (p->by_trees) {
        run_trees(&v, loops, r);
        return;
    }
    const size_t blocks = (p->rows + p->block - 1) / p->block;
    size_t from, to;
    kernel_share(&from, &to, blocks, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const size_t first = i * p->block, last = first + p->block;
        run_block(&v, loops, r, first, last < p->rows ? last : p->rows);
    }
}

/* ---- The family ----------------------------------------------------------------------------- */

/* Ranks of more tests need not be whole numbers of float32. */
enum { MOST_NODES = 1 << 23 };

typedef struct forest_size {
    size_t nodes, roots;
} forest_size;

static forest_size size_of(const op_node *n)
{
    forest_size s = {0};
    if (forest_is_version5(n)) {
        const op_attr *members = op_attr_find(n, "membership_values");
        (void)op_attr_ints(n, "nodes_featureids", &s.nodes);
        (void)op_attr_ints(n, "tree_roots", &s.roots);
        if (members) s.nodes += pgy_tensor_count(members->tensor);
        return s;
    }
    const int64_t *ids = op_attr_ints(n, "nodes_treeids", &s.nodes);
    for (size_t i = 0; i < s.nodes; i++) s.roots += !i || ids[i] != ids[i - 1];
    return s;
}

static bool takes_type(const op_node *n, pgy_dtype type)
{
    return type == PGY_F32 || type == PGY_F64 ||
           (!forest_is_version5(n) && (type == PGY_I32 || type == PGY_I64));
}

static bool forest_accept(kernel_problem *u, double *cost_ns)
{
    const kernel_tensor *x = &u->inputs[0];
    const forest_size size = size_of(u->node);
    const pgy_dtype score = forest_is_version5(u->node) ? x->dtype : PGY_F32;
    if (!takes_type(u->node, x->dtype) || x->rank < 1 || x->rank > 2 || !kernel_count(x) ||
        !size.nodes || !size.roots || size.nodes > MOST_NODES)
        return false;
    for (size_t i = 0; i < u->output_count; i++) {
        const pgy_dtype type = u->outputs[i].dtype;
        if (type && type != (forest_is_classifier(u->node) && i == 0 ? PGY_I64 : score))
            return false;
        u->outputs[i].layout = KERNEL_LINEAR;
    }
    u->inputs[0].layout = KERNEL_LINEAR;
    const double rows = x->rank == 2 ? (double)x->shape[0] : 1;
    *cost_ns = 200 + rows * (double)size.roots * 10 * u->self->rates[0];
    return true;
}

static bool forest_extent(kernel_extent *e, const kernel_claim *q)
{
    const forest_params *p = q->params;
    if (q->params_bytes < sizeof *p) return extent_refuse(e, "size of the parameters");
    if (!forest_check(e, p, q->params_bytes)) return false;
    if (q->input_count != 1 || q->output_count != (p->classifies ? 2u : 1u))
        return extent_refuse(e, "number of operands");
    extent_tensor(e, 0, extent_mul(p->rows, p->features),
                  pgy_dtype_describe((pgy_dtype)p->type)->bits / 8);
    if (p->classifies && extent_has(q, 1)) extent_tensor(e, 1, p->rows, sizeof(int64_t));
    const uint32_t scores = p->classifies ? 2 : 1;
    if (extent_has(q, scores))
        extent_tensor(e, scores, extent_mul(p->rows, p->targets),
                      p->wide_scores ? sizeof(double) : sizeof(float));
    e->scratch = forest_scratch(p);
    if (!p->by_trees) return true;
    e->phases = 2;
    e->workspace = extent_mul3(p->rows, forest_found(p), sizeof(uint32_t));
    return true;
}

#define ROW(suffix, level, each)                                                             \
    {                                                                                        \
        .name = "forest_" #suffix, .version = 2,                                             \
        .ops = "ai.onnx.ml:TreeEnsembleClassifier ai.onnx.ml:TreeEnsembleRegressor "         \
               "ai.onnx.ml:TreeEnsemble",                                                    \
        .needs = level, .rates = {each}, .accept = forest_accept, .prepare = forest_prepare, \
        .run = forest_run, .extent = forest_extent                                           \
    }
const kernel KERNELS_forest[] = {
    ROW(portable, CPU_PORTABLE, 1.0),
    ROW(avx2, CPU_AVX2, 0.6),
    ROW(avx512, CPU_AVX512, 0.4),
    {0},
};

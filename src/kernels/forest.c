/* SPDX-License-Identifier: Apache-2.0 */
/* TreeEnsembleClassifier and TreeEnsembleRegressor of float32 features. The upper part of a tree,
 * or all of it, is swept (forest.h): all its tests are made for 16 rows at a time or, for a single
 * row, for 16 words of tests. Below it rows walk: nodes take 16 bytes, and children lie behind
 * their parents, so a walk ends; eight walks are interleaved, because each step waits for two
 * loads. The weights of a row are added in the order of the trees in float64, so results do not
 * depend on threads or on the way to the leaves. */
#include "kernels/forest.h"

#include <string.h>

#include "base/cancel.h"
#include "kernels/extent.h"

/* ---- Walks ---------------------------------------------------------------------------------- */

enum { LANES = FOREST_LANES };

static inline uint32_t step(const forest_step *n, const float *x, bool simple)
{
    const float v = x[n->feature & FOREST_FEATURE], s = n->split;
    if (simple) return n->next[v <= s];
    const uint32_t missing = (v != v) & (n->feature >> FOREST_MISSING_BIT);
    uint32_t passes = v <= s;
    switch (n->feature >> FOREST_MODE_BIT & 7) {
    case FOREST_LT: passes = v < s; break;
    case FOREST_GTE: passes = v >= s; break;
    case FOREST_GT: passes = v > s; break;
    case FOREST_EQ: passes = v == s; break;
    case FOREST_NEQ: passes = v != s; break;
    default: break;
    }
    return n->next[passes | missing];
}

/* Walks up to FOREST_GROUP rows or, with `one`, trees for the row x[0] to their leaves, which are
 * at least `depth` steps away. A leaf leads to itself. `depth` may include FOREST_EVEN. */
static inline __attribute__((always_inline)) void walk_lanes(const forest_step *nodes, uint32_t *at,
                                                             const float *const *x, uint32_t depth,
                                                             bool simple, bool one)
{
    const int lanes = one ? FOREST_GROUP : LANES; /* more of them hide more of memory's latency */
    uint32_t moved;
    for (uint32_t d = 0; d < depth % FOREST_EVEN; d++)
#pragma GCC unroll 16
        for (int i = 0; i < lanes; i++) at[i] = step(&nodes[at[i]], x[one ? 0 : i], simple);
    if (depth & FOREST_EVEN) return;
    do {
        moved = 0;
#pragma GCC unroll 16
        for (int i = 0; i < lanes; i++) {
            const uint32_t next = step(&nodes[at[i]], x[one ? 0 : i], simple);
            moved |= next ^ at[i];
            at[i] = next;
        }
    } while (moved);
}

static void walk_any(const forest_view *v, uint32_t *at, const float *const *x, uint32_t depth,
                     bool one)
{
    if (!v->p->simple && one)
        walk_lanes(v->nodes, at, x, depth, false, true);
    else if (!v->p->simple)
        walk_lanes(v->nodes, at, x, depth, false, false);
    else if (one)
        walk_lanes(v->nodes, at, x, depth, true, true);
    else
        walk_lanes(v->nodes, at, x, depth, true, false);
}

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
    if (p->targets == 1 && !p->ranked) {
        *y = joined(p->join, *y, (double)leaf->split, *seen);
        *seen = true;
        return;
    }
    uint32_t k;
    memcpy(&k, &leaf->split, sizeof k);
    if (k >= p->leaves) return; /* a plan may claim a wrong depth, so this may be no leaf */
    for (uint32_t i = v->ranges[k]; i < v->ranges[k + 1]; i++) {
        const forest_share *w = &v->weights[i];
        double *sum = &y[w->target * stride];
        *sum = joined(p->join, *sum, w->value, seen[w->target * stride]);
        seen[w->target * stride] = true;
    }
}

/* Scores lie in scratch memory behind ranks and columns of features. */
static forest_scores scores_of(const forest_params *p, void *scratch)
{
    const size_t ranks = p->ranked ? p->block * p->width : 0;
    forest_scores s;
    s.y = (double *)((float *)scratch + ranks + p->columns * FOREST_ROWS);
    s.row_y = s.y + p->block * p->targets;
    s.seen = (bool *)(s.row_y + p->targets);
    s.row_seen = s.seen + p->block * p->targets;
    return s;
}

/* Rows from `from` on, which tests use: those of the input, or their ranks. */
static const float *rows_of(const forest_view *v, const kernel_run *r, size_t from, size_t rows)
{
    if (!v->p->ranked) return (const float *)r->tensors[0] + from * v->p->features;
    forest_rank(r->scratch, v, r->tensors[0], from, rows);
    return r->scratch;
}

/* ---- Many rows ------------------------------------------------------------------------------ */

/* Walks `rows` rows on from the nodes `at`, which are at least `depth` steps above the leaves. */
static void walk_rows(const forest_view *v, const float *x, uint32_t *at, uint32_t depth,
                      size_t rows)
{
    for (size_t row = 0; row < rows; row += LANES) {
        const float *lanes[LANES];
        for (size_t i = 0; i < LANES; i++)
            lanes[i] = x + (row + i < rows ? row + i : rows - 1) * v->p->width;
        walk_any(v, at + row, lanes, depth, false);
    }
}

/* The leaves of `rows` rows in a tree. */
static void find_rows(const forest_view *v, const forest_loops *loops, const forest_tree *tree,
                      const float *x, const float *columns, uint32_t *at, size_t rows)
{
    const size_t whole = extent_round_up(rows, FOREST_GROUP);
    const uint32_t *exits = v->exits + (size_t)tree->word * FOREST_WORD;
    if (tree->words) loops->find(at, v, tree, columns, whole);
    for (size_t i = 0; i < whole; i++) at[i] = tree->words ? exits[at[i]] : tree->root;
    if (!tree->whole) walk_rows(v, x, at, tree->words ? 0 : tree->depth, rows);
}

/* Adds what a tree with tables gives to `rows` rows. */
static void add_tables(const forest_view *v, const forest_loops *loops, const forest_tree *tree,
                       const uint32_t *exits, const forest_scores *s, size_t rows)
{
    const size_t block = v->p->block;
    for (uint32_t k = tree->table; k < tree->table + tree->tables; k++) {
        const forest_table *t = &v->tables[k];
        loops->add(s->y + t->target * block, v->values + t->first, exits, tree->words,
                   extent_round_up(rows, FOREST_GROUP));
        if (!s->seen[t->target * block]) memset(s->seen + t->target * block, true, rows);
    }
}

/* Rows [from, to) are at most one block. */
static void run_block(const forest_view *v, const forest_loops *loops, const kernel_run *r,
                      size_t from, size_t to)
{
    const forest_params *p = v->p;
    const size_t rows = to - from;
    const float *x = rows_of(v, r, from, rows);
    float *columns = (float *)r->scratch + (p->ranked ? p->block * p->width : 0);
    const forest_scores s = scores_of(p, r->scratch);
    uint32_t at[FOREST_ROWS + LANES];
    memset(s.y, 0, p->block * p->targets * sizeof *s.y);
    memset(s.seen, 0, p->block * p->targets * sizeof *s.seen);
    if (p->columns) forest_turn(columns, v, x, rows);
    for (size_t i = 0; i < p->roots && !cancel_requested(); i++) {
        const forest_tree *tree = &v->trees[i];
        if (p->tables) {
            loops->find(at, v, tree, columns, extent_round_up(rows, FOREST_GROUP));
            add_tables(v, loops, tree, at, &s, rows);
            continue;
        }
        find_rows(v, loops, tree, x, columns, at, rows);
        for (size_t k = 0; k < rows; k++) add_leaf(v, at[k], s.y + k, s.seen + k, p->block);
    }
    forest_finish(v, r, &s, from, to);
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
static void find_leaves(const forest_view *v, const forest_loops *loops, const float *x,
                        uint32_t *leaves, size_t group)
{
    const forest_params *p = v->p;
    const size_t first = group * FOREST_GROUP;
    uint32_t bits[FOREST_GROUP];
    if (p->groups) loops->bits(bits, v, group, x);
    for (size_t i = 0; i < FOREST_GROUP; i++) {
        const size_t tree = first + i < p->roots ? first + i : first;
        const uint32_t exit = p->groups ? (uint32_t)__builtin_ctz(bits[i] | 1u << 31) : 0;
        leaves[first + i] = p->groups ? v->exits[tree * FOREST_WORD + exit] : v->trees[tree].root;
    }
    if (p->whole) return;
    const float *rows[FOREST_GROUP];
    for (size_t i = 0; i < FOREST_GROUP; i++) rows[i] = x;
    walk_any(v, leaves + first, rows, p->groups ? 0 : least_depth(v, first), true);
}

/* Few rows: the first phase finds the leaves, the second adds their weights. */
static void run_trees(const forest_view *v, const forest_loops *loops, const kernel_run *r)
{
    const forest_params *p = v->p;
    const size_t found = forest_found(p), groups = found / FOREST_GROUP;
    uint32_t *leaves = r->workspace;
    size_t from, to;
    if (r->phase == 0) {
        kernel_share(&from, &to, groups, r->part, r->parts);
        const float *x = from < to ? rows_of(v, r, 0, p->rows) : NULL;
        for (size_t row = 0; row < p->rows; row++)
            for (size_t i = from; i < to && !cancel_requested(); i++)
                find_leaves(v, loops, x + row * p->width, leaves + row * found, i);
        return;
    }
    kernel_share(&from, &to, p->rows, r->part, r->parts);
    const forest_scores s = scores_of(p, r->scratch);
    for (size_t row = from; row < to; row++) {
        memset(s.row_y, 0, p->targets * sizeof *s.row_y);
        memset(s.row_seen, 0, p->targets * sizeof *s.row_seen);
        for (size_t i = 0; i < p->roots; i++) {
            const uint32_t leaf = leaves[row * found + i];
            if (leaf < p->nodes) add_leaf(v, leaf, s.row_y, s.row_seen, 1);
        }
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

static bool forest_accept(kernel_problem *u, double *cost_ns)
{
    const kernel_tensor *x = &u->inputs[0];
    const bool classifies = strcmp(u->node->def->name, "TreeEnsembleClassifier") == 0;
    const op_attr *modes = op_attr_find(u->node, "nodes_modes");
    size_t roots = 1, trees;
    const int64_t *ids = op_attr_ints(u->node, "nodes_treeids", &trees);
    for (size_t i = 1; i < trees; i++) roots += ids[i] != ids[i - 1];
    if ((x->dtype != PGY_F32 && x->dtype != PGY_F64) || x->rank < 1 || x->rank > 2 ||
        !kernel_count(x) || !modes || trees > MOST_NODES)
        return false;
    for (size_t i = 0; i < u->output_count; i++) {
        const pgy_dtype type = u->outputs[i].dtype;
        if (type && type != (classifies && i == 0 ? PGY_I64 : PGY_F32)) return false;
        u->outputs[i].layout = KERNEL_LINEAR;
    }
    u->inputs[0].layout = KERNEL_LINEAR;
    const double rows = x->rank == 2 ? (double)x->shape[0] : 1;
    *cost_ns = 200 + rows * (double)roots * 10 * u->self->rates[0];
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
                  p->doubles ? sizeof(double) : sizeof(float));
    if (p->classifies && extent_has(q, 1)) extent_tensor(e, 1, p->rows, sizeof(int64_t));
    const uint32_t scores = p->classifies ? 2 : 1;
    if (extent_has(q, scores))
        extent_tensor(e, scores, extent_mul(p->rows, p->targets), sizeof(float));
    e->scratch = forest_scratch(p);
    if (!p->by_trees) return true;
    e->phases = 2;
    e->workspace = extent_mul3(p->rows, forest_found(p), sizeof(uint32_t));
    return true;
}

#define ROW(suffix, level, each)                                                             \
    {                                                                                        \
        .name = "forest_" #suffix, .version = 1,                                             \
        .ops = "ai.onnx.ml:TreeEnsembleClassifier ai.onnx.ml:TreeEnsembleRegressor",         \
        .needs = level, .rates = {each}, .accept = forest_accept, .prepare = forest_prepare, \
        .run = forest_run, .extent = forest_extent                                           \
    }
const kernel KERNELS_forest[] = {
    ROW(portable, CPU_PORTABLE, 1.0),
    ROW(avx2, CPU_AVX2, 0.6),
    ROW(avx512, CPU_AVX512, 0.4),
    {0},
};

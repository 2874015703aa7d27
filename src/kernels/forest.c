/* SPDX-License-Identifier: Apache-2.0 */
/* TreeEnsembleClassifier and TreeEnsembleRegressor of float32 features. Nodes take 16 bytes, and
 * children lie behind their parents, so a walk ends. Eight walks are interleaved, because each step
 * waits for two loads: of eight rows through one tree or, for few rows, of one row through eight
 * trees. The weights of a row are added in the order of the trees in float64, so results do not
 * depend on threads or on the way of walking. */
#include "kernels/forest.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
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

/* Walks LANES rows or trees to their leaves, which are at least `depth` steps away. A leaf leads to
 * itself. `depth` may include FOREST_EVEN. */
static inline void walk_lanes(const forest_step *nodes, uint32_t *at, const float *const *x,
                              uint32_t depth, bool simple)
{
    uint32_t moved;
    for (uint32_t d = 0; d < depth % FOREST_EVEN; d++)
#pragma GCC unroll 8
        for (int i = 0; i < LANES; i++) at[i] = step(&nodes[at[i]], x[i], simple);
    if (depth & FOREST_EVEN) return;
    do {
        moved = 0;
#pragma GCC unroll 8
        for (int i = 0; i < LANES; i++) {
            const uint32_t next = step(&nodes[at[i]], x[i], simple);
            moved |= next ^ at[i];
            at[i] = next;
        }
    } while (moved);
}

static void walk_any(const forest_view *v, uint32_t *at, const float *const *x, uint32_t depth)
{
    if (v->p->simple)
        walk_lanes(v->nodes, at, x, depth, true);
    else
        walk_lanes(v->nodes, at, x, depth, false);
}

/* ---- Scores --------------------------------------------------------------------------------- */

static inline double joined(uint32_t how, double a, double b, bool seen)
{
    if (how == FOREST_MIN) return !seen || b < a ? b : a;
    if (how == FOREST_MAX) return !seen || b > a ? b : a;
    return a + b;
}

/* Adds the weights of the leaf at `at` to the scores of a row. */
static inline void add_leaf(const forest_view *v, uint32_t at, double *y, bool *seen)
{
    const forest_params *p = v->p;
    const forest_step *leaf = &v->nodes[at];
    if (p->targets == 1) {
        *y = joined(p->join, *y, (double)leaf->split, *seen);
        *seen = true;
        return;
    }
    uint32_t k;
    memcpy(&k, &leaf->split, sizeof k);
    if (k >= p->leaves) return; /* a plan may claim a wrong depth, so this may be no leaf */
    for (uint32_t i = v->ranges[k]; i < v->ranges[k + 1]; i++) {
        const forest_share *w = &v->weights[i];
        y[w->target] = joined(p->join, y[w->target], (double)w->value, seen[w->target]);
        seen[w->target] = true;
    }
}

/* Makes the sums of a row into outputs. */
static void finish_row(const forest_view *v, const kernel_run *r, size_t row, double *y, bool *seen)
{
    const forest_params *p = v->p;
    const forest f = {.join = (forest_join)p->join,
                      .transform = (scores_transform)p->transform,
                      .base = v->base,
                      .base_count = p->base_count,
                      .root_count = p->roots,
                      .target_count = p->targets};
    float *z = r->tensors[p->classifies ? 2 : 1];
    int64_t *labels = p->classifies ? r->tensors[1] : NULL;
    size_t label = 0;
    bool literal = true;
    if (!p->classifies)
        forest_finish_targets(&f, y, seen);
    else if (!forest_finish_classes(&label, &literal, &f, (forest_classes){p->one_id, p->positive},
                                    y, seen))
        kernel_fault(r);
    if (labels) labels[row] = literal ? (int64_t)label : v->labels[label];
    if (!z) return;
    for (size_t i = 0; i < p->targets; i++) z[row * p->targets + i] = (float)y[i];
}

/* The scores of a block of rows in scratch memory. */
static void clear_block(const forest_params *p, double *y, bool *seen)
{
    memset(y, 0, p->block * p->targets * sizeof *y);
    memset(seen, 0, p->block * p->targets * sizeof *seen);
}

/* Scores lie in scratch memory behind the columns of features. */
static double *scores_of(const forest_params *p, void *scratch)
{
    return (double *)((char *)scratch + forest_columns(p));
}

/* The leaves of rows [from, to) in one tree, by walks. */
static void walk_rows(const forest_view *v, const float *x, uint32_t *at, size_t tree, size_t from,
                      size_t to)
{
    for (size_t row = from; row < to; row += LANES) {
        const float *lanes[LANES];
        uint32_t *first = at + (row - from);
        for (size_t i = 0; i < LANES; i++) {
            lanes[i] = x + (row + i < to ? row + i : to - 1) * v->p->features;
            first[i] = v->roots[tree];
        }
        walk_any(v, first, lanes, v->depths[tree]);
    }
}

/* Rows [from, to) are at most one block. */
static void run_block(const forest_view *v, const kernel_run *r, size_t from, size_t to)
{
    const forest_params *p = v->p;
    const float *x = r->tensors[0];
    float *columns = forest_columns(p) ? r->scratch : NULL;
    double *y = scores_of(p, r->scratch);
    bool *seen = (bool *)(y + p->block * p->targets);
    uint32_t at[FOREST_ROWS + LANES];
    clear_block(p, y, seen);
    if (columns) forest_turn(columns, x + from * p->features, to - from, p->features);
    for (size_t tree = 0; tree < p->roots && !cancel_requested(); tree++) {
        if (!columns || !forest_sweep(v, tree, columns, at, to - from))
            walk_rows(v, x, at, tree, from, to);
        if (p->targets == 1 && p->join < FOREST_MIN) {
            for (size_t i = 0; i < to - from; i++) y[i] += (double)v->nodes[at[i]].split;
            continue;
        }
        for (size_t i = 0; i < to - from; i++)
            add_leaf(v, at[i], y + i * p->targets, seen + i * p->targets);
    }
    if (p->targets == 1) memset(seen, 1, to - from);
    for (size_t row = from; row < to; row++)
        finish_row(v, r, row, y + (row - from) * p->targets, seen + (row - from) * p->targets);
}

/* Finds the leaves of one row in trees [from, to). */
static void find_leaves(const forest_view *v, const float *x, uint32_t *leaves, size_t from,
                        size_t to)
{
    const float *lanes[LANES];
    for (size_t i = 0; i < LANES; i++) lanes[i] = x;
    for (size_t tree = from; tree < to; tree += LANES) {
        uint32_t at[LANES], depth = FOREST_DEPTH;
        for (size_t i = 0; i < LANES; i++) {
            const size_t which = tree + i < to ? tree + i : to - 1;
            at[i] = v->roots[which];
            const uint32_t own = v->depths[which];
            if (own % FOREST_EVEN < depth % FOREST_EVEN)
                depth = own % FOREST_EVEN | (i ? 0 : own & FOREST_EVEN);
            else if (own != depth)
                depth %= FOREST_EVEN;
        }
        walk_any(v, at, lanes, depth);
        for (size_t i = 0; i < LANES && tree + i < to; i++) leaves[tree + i] = at[i];
    }
}

/* Few rows: the first phase finds the leaves, the second adds their weights. */
static void run_trees(const forest_view *v, const kernel_run *r)
{
    const forest_params *p = v->p;
    const float *x = r->tensors[0];
    uint32_t *leaves = r->workspace;
    size_t from, to;
    if (r->phase == 0) {
        kernel_share(&from, &to, p->roots, r->part, r->parts);
        for (size_t row = 0; row < p->rows && from < to; row++)
            find_leaves(v, x + row * p->features, leaves + row * p->roots, from, to);
        return;
    }
    kernel_share(&from, &to, p->rows, r->part, r->parts);
    for (size_t row = from; row < to; row++) {
        double *y = scores_of(p, r->scratch);
        bool *seen = (bool *)(y + p->block * p->targets);
        clear_block(p, y, seen);
        for (size_t tree = 0; tree < p->roots; tree++) {
            const uint32_t leaf = leaves[row * p->roots + tree];
            if (leaf < p->nodes) add_leaf(v, leaf, y, seen);
        }
        finish_row(v, r, row, y, seen);
    }
}

static void forest_run(const kernel_run *r)
{
    const forest_view v = forest_view_of(r->params);
    const forest_params *p = v.p;
    if (p->by_trees) {
        run_trees(&v, r);
        return;
    }
    const size_t blocks = (p->rows + p->block - 1) / p->block;
    size_t from, to;
    kernel_share(&from, &to, blocks, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const size_t first = i * p->block, last = first + p->block;
        run_block(&v, r, first, last < p->rows ? last : p->rows);
    }
}

/* ---- The family ----------------------------------------------------------------------------- */

static bool forest_accept(kernel_problem *u, double *cost_ns)
{
    const kernel_tensor *x = &u->inputs[0];
    const bool classifies = strcmp(u->node->def->name, "TreeEnsembleClassifier") == 0;
    const op_attr *modes = op_attr_find(u->node, "nodes_modes");
    size_t roots = 1, trees;
    const int64_t *ids = op_attr_ints(u->node, "nodes_treeids", &trees);
    for (size_t i = 1; i < trees; i++) roots += ids[i] != ids[i - 1];
    if (x->dtype != PGY_F32 || x->rank < 1 || x->rank > 2 || !kernel_count(x) || !modes)
        return false;
    for (size_t i = 0; i < u->node->attr_count; i++)
        if (u->node->attrs[i].kind == OP_ATTR_TENSOR) return false;
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
    extent_tensor(e, 0, extent_mul(p->rows, p->features), sizeof(float));
    if (p->classifies && extent_has(q, 1)) extent_tensor(e, 1, p->rows, sizeof(int64_t));
    const uint32_t scores = p->classifies ? 2 : 1;
    if (extent_has(q, scores))
        extent_tensor(e, scores, extent_mul(p->rows, p->targets), sizeof(float));
    e->scratch = extent_add(forest_columns(p),
                            extent_mul3(p->block, p->targets, sizeof(double) + sizeof(bool)));
    if (!p->by_trees) return true;
    e->phases = 2;
    e->workspace = extent_mul3(p->rows, p->roots, sizeof(uint32_t));
    return true;
}

const kernel KERNELS_forest[] = {
    {.name = "forest_f32",
     .version = 2,
     .ops = "ai.onnx.ml:TreeEnsembleClassifier ai.onnx.ml:TreeEnsembleRegressor",
     .needs = CPU_PORTABLE,
     .rates = {1.0},
     .accept = forest_accept,
     .prepare = forest_prepare,
     .run = forest_run,
     .extent = forest_extent},
    {0},
};

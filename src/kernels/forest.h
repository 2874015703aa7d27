/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the kernel for tree ensembles: a header and, behind it, the arrays of a forest. */
#ifndef KERNELS_FOREST_H
#define KERNELS_FOREST_H

#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "ops/class_forest.h"

enum {
    FOREST_LANES = 8,
    FOREST_DEPTH = 64,
    FOREST_EVEN = 128,
    FOREST_ROWS = 64,        /* most rows of a block */
    FOREST_GROUP = 16,       /* a block is a multiple of so many rows; trees of a group */
    FOREST_COLUMNS = 1024,   /* most features that are turned */
    FOREST_WORD = 32,        /* exits of a word */
    FOREST_MOST_WORDS = 8,   /* of a tree */
    FOREST_MOST_TABLES = 64, /* of a tree */
    FOREST_MODE_BIT = 28,    /* three bits: enum forest_mode */
    FOREST_MISSING_BIT = 31, /* a NaN passes the test */
    FOREST_FEATURE = (1 << FOREST_MODE_BIT) - 1
};

/* A node. Of a leaf both `next` are the leaf itself, and `split` is its value or, with several
 * targets or with ranks, the bits of the number of its range of weights. */
typedef struct forest_step {
    float split;
    uint32_t feature; /* and test, and where a NaN goes */
    uint32_t next[2];
} forest_step;

typedef struct forest_share {
    double value;
    uint32_t target, unused;
} forest_share;

/* ---- Sweeps ---------------------------------------------------------------------------------
 * All tests of a tree's upper part are made, in any order (QuickScorer, Lucchese et al. 2015). The
 * exits of this part, leaves or nodes to walk on from, are numbered so that those of passed tests
 * come first. A test `x <= split` that fails clears the bits of the exits behind its passing side;
 * the exit of a row is the first bit that is left. Bits lie in words of 32. */
typedef struct forest_test {
    float split;
    uint32_t column; /* of the turned features or, in a lane group, of the row */
    uint32_t clears;
} forest_test;

/* Tests that fail for a NaN, then those that pass. */
typedef struct forest_word {
    uint32_t first, plain, missing;
} forest_word;

/* The words of a tree; none: it is walked from the root. */
typedef struct forest_tree {
    uint32_t root, depth; /* the least depth of a leaf, at most FOREST_DEPTH, with FOREST_EVEN if
                             all leaves have it */
    uint32_t word, words;
    uint32_t table, tables; /* its tables of values, if the forest has any */
    uint32_t whole;         /* all exits are leaves */
} forest_tree;

/* Values that a tree adds to a target: of exit i, values[first + i]. */
typedef struct forest_table {
    uint32_t target, first;
} forest_table;

/* One test each of FOREST_GROUP trees, for one row. Then each tree has one word. */
typedef struct forest_lanes {
    float split[FOREST_GROUP];
    uint32_t column[FOREST_GROUP], clears[FOREST_GROUP];
} forest_lanes;

/* Behind it lie base values, labels (int64), thresholds of ranks, weights, nodes, the first weight
 * of each leaf and the end of the last, trees, what sweeps need, and columns of ranks. */
typedef struct forest_params {
    uint64_t rows, features, targets, nodes, weights, leaves, roots, base_count, labels;
    uint64_t block; /* rows that are computed together */
    uint64_t width; /* numbers of a row that tests use: ranks, or all features */
    uint64_t splits;
    uint64_t columns, words, tests, tables, values;
    uint64_t groups, lanes; /* of few rows; 0: trees are walked */
    uint32_t join, transform, level;
    bool classifies, one_id, positive;
    bool simple; /* all tests are <=, and NaNs fail them */
    bool by_trees;
    bool whole;   /* all exits of all trees are leaves */
    bool ranked;  /* tests are of ranks (forest_ranks.c), and weights are float64 */
    bool doubles; /* features are float64 */
    uint8_t unused[4];
} forest_params;

typedef struct forest_view {
    const forest_params *p;
    const double *base;
    const int64_t *labels;
    const forest_step *nodes;
    const forest_share *weights;
    const uint32_t *ranges;
    const forest_tree *trees;
    const uint32_t *columns; /* features */
    const forest_word *words, *groups;
    const forest_test *tests;
    const forest_lanes *lanes;
    const uint32_t *exits; /* nodes, FOREST_WORD of each word */
    const forest_table *tables;
    const float *values;
    const double *splits;                       /* of ranks, column by column */
    const uint32_t *rank_features, *rank_first; /* of a column; rank_first has one more */
} forest_view;

/* Ranks of features: for forest_view. */
typedef struct forest_ranks {
    uint32_t *features, *first;
    double *splits;
    size_t columns, count;
} forest_ranks;
/* Makes thresholds of f ranks, and features columns. False: out of memory. The caller frees, also
 * then. */
bool forest_ranks_make(forest_ranks *r, forest *f);
void forest_ranks_free(forest_ranks *r);
/* Are features, thresholds or weights float64? */
bool forest_needs_ranks(const kernel_problem *u);
/* Writes the ranks of rows from `from` on. */
void forest_rank(float *to, const forest_view *v, const void *x, size_t from, size_t rows);

/* Loops of one processor level. Rows are those of a block, up to a multiple of FOREST_GROUP. */
typedef struct forest_loops {
    /* The exits of rows in a tree that has words. */
    void (*find)(uint32_t *exits, const forest_view *v, const forest_tree *tree,
                 const float *columns, size_t rows);
    /* y[i] += values[exits[i]]; there are `words` words of values */
    void (*add)(double *y, const float *values, const uint32_t *exits, size_t words, size_t rows);
    /* The bits that one row leaves of the words of FOREST_GROUP trees. */
    void (*bits)(uint32_t *bits, const forest_view *v, size_t group, const float *x);
} forest_loops;

extern const forest_loops forest_loops_portable, forest_loops_avx2, forest_loops_avx512;

/* The scratch memory of a thread: ranks of a block, its features by columns, the scores, target by
 * target, and whether a target got a weight, then one row of both. */
uint64_t forest_scratch(const forest_params *p);
forest_view forest_view_of(const void *params);
/* Sets the arrays' places behind the header; returns the bytes in all. */
uint64_t forest_place(forest_view *v, const forest_params *p);

/* The scores of a block; those of row i and target t at [t * block + i]. */
typedef struct forest_scores {
    double *y, *row_y;
    bool *seen, *row_seen;
} forest_scores;
/* Makes the sums of rows [from, to) into outputs. */
void forest_finish(const forest_view *v, const kernel_run *r, const forest_scores *s, size_t from,
                   size_t to);
/* The same for one row, whose sums are row_y. */
void forest_finish_row(const forest_view *v, const kernel_run *r, const forest_scores *s,
                       size_t row);
/* Writes column c of row i of a block to columns[c * FOREST_ROWS + i]; the last row fills up the
 * group. */
void forest_turn(float *columns, const forest_view *v, const float *x, size_t rows);
/* Leaves that few rows need for each row in the workspace. */
static inline uint64_t forest_found(const forest_params *p)
{
    return extent_round_up(p->roots, FOREST_GROUP);
}

/* What the upper parts of all trees need; kernel.prepare makes it before the parameters. */
typedef struct forest_sweeps {
    uint32_t *columns, *exits;
    forest_word *words, *groups;
    forest_test *tests;
    forest_lanes *lanes;
    forest_table *tables;
    float *values;
    forest_tree *trees;
} forest_sweeps;
/* Takes the view's nodes and the roots and depths of the trees; sets the counts in *p. False: out
 * of memory. The caller frees, also then. */
bool forest_sweeps_make(forest_sweeps *s, forest_params *p, const forest_view *v);
void forest_sweeps_free(forest_sweeps *s);

/* kernel.prepare */
pgy_status forest_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err);
/* Checks everything that a run relies on, in parameters of any origin. */
bool forest_check(kernel_extent *e, const forest_params *p, uint64_t bytes);

#endif

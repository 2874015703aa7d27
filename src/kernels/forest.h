/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the kernel for tree ensembles: a header and, behind it, the arrays of a forest. */
#ifndef KERNELS_FOREST_H
#define KERNELS_FOREST_H

#include <string.h>

#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "ops/class_forest.h"

enum {
    FOREST_LANES = 8,
    FOREST_DEPTH = 64,
    FOREST_EVEN = 128,
    FOREST_ROWS = 64,            /* most rows of a block */
    FOREST_GROUP = 16,           /* a block is a multiple of so many rows; trees of a group */
    FOREST_COLUMNS = 1024,       /* most features that are turned */
    FOREST_WORD = 32,            /* exits of a word */
    FOREST_MOST_WORDS = 8,       /* of a tree */
    FOREST_MOST_TABLES = 64,     /* of a tree */
    FOREST_MOST_TESTS = 1 << 16, /* of one kind of a word */
    FOREST_MOST_CHOICES = 64,
    FOREST_MOST_CHOICE = 4095, /* largest place */
    FOREST_MASK_BIT = 28,      /* four bits: enum forest_mask */
    FOREST_FEATURE = (1 << FOREST_MASK_BIT) - 1,
    FOREST_SET_HEAD = 2, /* words of a set before its bits */
    FOREST_NOWHERE = UINT32_MAX / 2
};

/* Results of comparing a feature with the threshold. A test passes if its mask has the bit of the
 * result; a mask of 0 marks a test for membership. */
enum forest_mask { FOREST_LESS = 1, FOREST_EQUAL = 2, FOREST_GREATER = 4, FOREST_NAN = 8 };

/* The mask of leaves: any comparison, as both children of a leaf are the leaf itself. */
#define FOREST_ANYTHING ((uint32_t)FOREST_LESS << FOREST_MASK_BIT)

/* A node. Of a leaf both `next` are the leaf itself, and `split` is its value or, with several
 * targets or with ranks, the bits of the number of its range of weights. Of a test for membership
 * `split` is the bits of the place of its set. */
typedef struct forest_step {
    float split;
    uint32_t feature; /* and mask */
    uint32_t next[2];
} forest_step;

static inline uint32_t forest_mask_of(const forest_step *n)
{
    return n->feature >> FOREST_MASK_BIT;
}

static inline uint32_t forest_split_bits(const forest_step *n)
{
    uint32_t k;
    memcpy(&k, &n->split, sizeof k);
    return k;
}

/* ---- Sets -----------------------------------------------------------------------------------
 * Sets are words: the first segment, the number of segments, and their bits. Place 0 is NaN, place
 * k + 1 the number k. A segment has FOREST_WORD places. */

static inline uint32_t forest_place_of(float x)
{
    const bool inside = x >= 0 && x < (float)(1 << 24);
    const int32_t k = (int32_t)(inside ? x : 0);
    const uint32_t place = inside && (float)k == x ? (uint32_t)k + 1 : FOREST_NOWHERE;
    return x == x ? place : 0;
}

static inline bool forest_has(const uint32_t *set, uint32_t place)
{
    const uint32_t segment = place / FOREST_WORD - set[0];
    const bool inside = segment < set[1];
    return set[FOREST_SET_HEAD + (inside ? segment : 0)] >> place % FOREST_WORD & inside;
}

/* Does the node test for equality? Then kernels test for membership, and forest_child is the node
 * behind that test: side 1 of members. */
bool forest_is_set(const forest_node *n);
uint32_t forest_child(const forest *f, uint32_t at, int side);
/* Are the thresholds of all tests for equality small whole numbers, for which bits can stand? Else
 * features must become ranks. */
bool forest_sets_fit(const forest *f);
/* Writes the set of node `at`, unless `to` is NULL; returns its words. They must be 0. */
size_t forest_put_set(uint32_t *to, const forest *f, uint32_t at);

typedef struct forest_share {
    double value;
    uint32_t target, unused;
} forest_share;

/* ---- Sweeps ---------------------------------------------------------------------------------
 * All tests of a tree's upper part are made, in any order (QuickScorer, Lucchese et al. 2015). The
 * exits of this part, leaves or nodes to walk on from, are numbered so that those of passed tests
 * come first. A test `x <= split` that fails clears the bits of the exits behind its passing side;
 * the exit of a row is the first bit that is left. Bits lie in words of 32.
 * For membership a block has columns of bits, one for each segment of a feature that sets use: bit
 * i if the feature has place i of the segment. The test of a set takes a forest_test for each of
 * its segments, of which the last one says what it clears. */
typedef struct forest_test {
    float split;     /* of membership: bits */
    uint32_t column; /* of the turned features, of bits behind them or, in lanes, of the row */
    uint32_t clears;
} forest_test;

/* Comparisons <= that fail for a NaN, those that pass, and membership. */
enum forest_kind { FOREST_PLAIN, FOREST_MISSING, FOREST_SET, FOREST_KINDS };

typedef struct forest_bits_column {
    uint32_t column, segment; /* of turned features */
} forest_bits_column;

/* Tests in the order of their kinds. */
typedef struct forest_word {
    uint32_t first, counts[FOREST_KINDS];
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

/* For few rows: a table of what all membership tests of a feature together leave of the word of
 * each tree. It has a line for each place from 0 to `last`, and one for all other places. */
typedef struct forest_choice {
    uint32_t feature, last;
    uint32_t first; /* word of the first tree and place 0 */
} forest_choice;

/* Behind it lie base values, labels (int64), thresholds of ranks, weights, nodes, the first weight
 * of each leaf and the end of the last, sets, columns of picked features, trees, and what sweeps
 * need. */
typedef struct forest_params {
    uint64_t rows, features, targets, nodes, weights, leaves, roots, base_count, labels;
    uint64_t block; /* rows that are computed together */
    uint64_t width; /* numbers of a row that tests use */
    uint64_t splits;
    uint64_t columns, bit_columns, words, tests, tables, values;
    uint64_t sets;          /* words */
    uint64_t groups, lanes; /* of few rows; 0: trees are walked */
    uint64_t choices, choice_words;
    uint32_t join, transform, level;
    uint32_t type; /* of features: pgy_dtype */
    bool classifies, one_id, positive;
    bool simple; /* all tests are <=, and NaNs fail them */
    bool by_trees;
    bool whole;  /* all exits of all trees are leaves */
    bool picked; /* tests are of float32 numbers or ranks of some features (forest_picks.c) */
    bool ranked; /* tests are of ranks, and weights are float64 */
    bool transforms_one, wide_scores; /* wide: float64 */
    bool dense;                       /* each leaf has one weight for each target, in their order */
    uint8_t unused[5];
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
    const forest_bits_column *bit_columns;
    const uint32_t *sets;
    const forest_word *words, *groups;
    const forest_test *tests;
    const forest_lanes *lanes;
    const forest_choice *choices;
    const uint32_t *choice_words;
    const uint32_t *exits; /* nodes, FOREST_WORD of each word */
    const forest_table *tables;
    const float *values;
    const double *wide_values;                  /* instead of values, with ranks */
    const double *splits;                       /* of ranks, column by column */
    const uint32_t *pick_features, *pick_first; /* of a column; pick_first has one more */
} forest_view;

/* Loops of one processor level. Rows are those of a block, up to a multiple of FOREST_GROUP. */
typedef struct forest_loops {
    /* The exits of rows in a tree that has words. */
    void (*find)(uint32_t *exits, const forest_view *v, const forest_tree *tree,
                 const float *columns, size_t rows);
    /* y[i] += values[exits[i]]; there are `words` words of values */
    void (*add)(double *y, const float *values, const uint32_t *exits, size_t words, size_t rows);
    void (*add_wide)(double *y, const double *values, const uint32_t *exits, size_t words,
                     size_t rows);
    /* Writes forest_place_of each number. */
    void (*places)(uint32_t *to, const float *x, size_t count);
    /* Makes columns of bits, behind the turned features. */
    void (*spread)(float *columns, const forest_view *v, size_t rows);
    /* Counts the splits below each x[i]. There are 2^k - 1 sorted splits; k may be 0. */
    void (*rank)(float *to, const double *splits, size_t count, const double *x, size_t rows);
    /* The same for one row: x[i] is the feature of column `column` + i. */
    void (*rank_row)(float *to, const forest_view *v, size_t column, const double *x, size_t count);
    /* Writes which bits of the words of FOREST_GROUP trees are left for one row. chosen: for each
     * choice, the first word of the row's line */
    void (*bits)(uint32_t *bits, const forest_view *v, size_t group, const float *x,
                 const uint32_t *chosen);
} forest_loops;

extern const forest_loops forest_loops_portable, forest_loops_avx2, forest_loops_avx512;

/* The rank of one number, as forest_loops.rank computes it. */
static inline float forest_rank_of(const double *splits, size_t count, double x)
{
    size_t at = 0;
    for (size_t half = (count + 1) / 2; half; half /= 2) at += splits[at + half - 1] < x ? half : 0;
    return x == x ? (float)at : (float)x;
}

/* ---- Picked features ------------------------------------------------------------------------ */

/* Features that become columns, and the thresholds of each: for forest_view. */
typedef struct forest_picks {
    uint32_t *features, *first;
    double *splits;
    size_t columns, count;
} forest_picks;
/* Gives each feature that f tests a column and puts the columns into the nodes; if `ranked`, ranks
 * replace the thresholds. False: out of memory. The caller frees *r in any case. */
bool forest_picks_make(forest_picks *r, forest *f, bool ranked);
void forest_picks_free(forest_picks *r);
/* Are features, thresholds or weights float64? */
bool forest_needs_ranks(const kernel_problem *u);
/* Writes the numbers that tests compare, of `rows` rows from row `from` on: row by row to `to`, and
 * column by column to `columns`, as forest_turn does. Either may be NULL. */
void forest_pick(float *to, float *columns, const forest_view *v, const forest_loops *loops,
                 const void *x, size_t from, size_t rows);
/* Writes the numbers of one row to `to`. */
void forest_pick_row(float *to, const forest_view *v, const forest_loops *loops, const void *x,
                     size_t row);
/* forest_loops.rank_row without vectors. */
void forest_rank_row(float *to, const forest_view *v, size_t column, const double *x, size_t count);
/* Are the places of all features of rows needed? */
static inline bool forest_walks_sets(const forest_params *p)
{
    return p->sets && !p->whole;
}
/* Are rows of picked numbers needed? */
static inline bool forest_picks_rows(const forest_params *p)
{
    return p->picked && (p->by_trees || !p->whole);
}

/* ---- Parameters ----------------------------------------------------------------------------- */

/* The scratch memory of a thread: picked numbers of a block, places, its features by columns, the
 * scores, target by target, and whether a target got a weight, then one row of both. */
uint64_t forest_scratch(const forest_params *p);
forest_view forest_view_of(const void *params);
/* Sets the arrays' places behind the header; returns the bytes in all. */
uint64_t forest_place(forest_view *v, const forest_params *p);

/* Can `dense` be set? */
bool forest_is_dense(const forest_view *v);

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

/* ---- Parts ----------------------------------------------------------------------------------
 * While sweeps are made: the upper part of one tree, which is swept. */

enum { FOREST_MOST_EXITS = FOREST_MOST_WORDS * FOREST_WORD };

/* A test of an upper part; failing, it clears exits [from, to). */
typedef struct forest_part_test {
    float split;
    uint32_t set; /* its place */
    uint32_t feature, from, to;
    enum forest_kind kind;
} forest_part_test;

typedef struct forest_part {
    forest_part_test tests[FOREST_MOST_EXITS];
    uint32_t exits[FOREST_MOST_EXITS];
    size_t test_count, exit_count;
    bool whole;
} forest_part;

/* `leaves`: those below each node, as forest_count_leaves counts them. */
void forest_part_take(forest_part *own, const forest_view *v, const uint32_t *leaves,
                      uint32_t root);
/* Up to FOREST_MOST_EXITS + 1 leaves below each node. */
void forest_count_leaves(uint32_t *leaves, const forest_view *v);

/* What the upper parts of all trees need; kernel.prepare makes it before the parameters. */
typedef struct forest_sweeps {
    uint32_t *columns, *exits;
    forest_bits_column *bit_columns;
    forest_word *words, *groups;
    forest_test *tests;
    forest_lanes *lanes;
    forest_choice *choices;
    uint32_t *choice_words;
    forest_table *tables;
    float *values;
    double *wide_values;
    forest_tree *trees;
} forest_sweeps;
/* Takes the view's nodes and the roots and depths of the trees; sets the counts in *p. False: out
 * of memory. The caller frees, also then. */
bool forest_sweeps_make(forest_sweeps *s, forest_params *p, const forest_view *v);
void forest_sweeps_free(forest_sweeps *s);
/* Makes room for a set in the table of its feature. False: there are too many tables, or the set
 * has too large a place. */
bool forest_choice_add(forest_sweeps *s, forest_params *p, uint32_t feature, const uint32_t *set);
bool forest_choices_place(forest_sweeps *s, forest_params *p);
/* Clears these bits of a tree's word in each line whose place is not in the set. */
void forest_choice_clear(forest_sweeps *s, const forest_params *p, size_t tree, uint32_t feature,
                         const uint32_t *set, uint32_t clears);
/* Finds the words of a row. */
void forest_choose(uint32_t *chosen, const forest_view *v, const float *x);

/* ---- Nodes ---------------------------------------------------------------------------------- */

typedef struct forest_nodes {
    const forest *f;
    uint32_t *order, *number; /* old nodes in their new order; new number + 1 of old nodes */
    uint32_t *stack;
    size_t count;
    bool ranked; /* set by the caller, like forest_params.ranked */
} forest_nodes;
/* Numbers the nodes of f. False: out of memory. The caller frees, also then. */
bool forest_nodes_make(forest_nodes *m, const forest *f);
void forest_nodes_free(forest_nodes *m);
/* Sets the counts of nodes, weights, leaves and words of sets, and `simple`. */
void forest_nodes_count(forest_params *p, const forest_nodes *m);
/* Writes nodes, weights, ranges and sets. */
void forest_nodes_write(const forest_nodes *m, const forest_view *v);

/* The operator: TreeEnsembleClassifier, TreeEnsemble of version 5, else TreeEnsembleRegressor. */
bool forest_is_classifier(const op_node *n);
bool forest_is_version5(const op_node *n);
/* kernel.prepare */
pgy_status forest_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err);
/* Checks everything that a run relies on, in parameters of any origin. */
bool forest_check(kernel_extent *e, const forest_params *p, uint64_t bytes);

#endif

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
    FOREST_COLUMNS = 1024,   /* most features that are turned */
    FOREST_MODE_BIT = 28,    /* three bits: enum forest_mode */
    FOREST_MISSING_BIT = 31, /* a NaN passes the test */
    FOREST_FEATURE = (1 << FOREST_MODE_BIT) - 1
};

/* A node. Of a leaf both `next` are the leaf itself, and `split` is its value or, with several
 * targets, the bits of the number of its range of weights. */
typedef struct forest_step {
    float split;
    uint32_t feature; /* and test, and where a NaN goes */
    uint32_t next[2];
} forest_step;

typedef struct forest_share {
    uint32_t target;
    float value;
} forest_share;

/* Behind it lie base values, labels (int64), nodes, weights, the first weight of each leaf and the
 * end of the last, roots, and of each tree the least depth of a leaf (at most FOREST_DEPTH), with
 * FOREST_EVEN if all leaves have it. */
typedef struct forest_params {
    uint64_t rows, features, targets, nodes, weights, leaves, roots, base_count, labels;
    uint64_t block; /* rows that are computed together */
    uint32_t join, transform;
    bool classifies, one_id, positive;
    bool simple; /* all tests are <=, and NaNs fail them */
    bool by_trees;
    uint8_t unused[3];
} forest_params;

typedef struct forest_view {
    const forest_params *p;
    const double *base;
    const int64_t *labels;
    const forest_step *nodes;
    const forest_share *weights;
    const uint32_t *ranges, *roots, *depths;
} forest_view;

/* Bytes of the scratch memory in front of the scores: the features of a block by columns, for
 * forest_sweep; 0 if there are too many, also for the trees. */
static inline uint64_t forest_columns(const forest_params *p)
{
    return !p->by_trees && p->features <= FOREST_COLUMNS && p->features / 2 < p->roots
               ? p->features * FOREST_ROWS * sizeof(float)
               : 0;
}
/* Writes feature f of row i of a block to columns[f * FOREST_ROWS + i]; the last row fills up the
 * lanes. */
void forest_turn(float *columns, const float *x, size_t rows, size_t features);
/* Finds the leaves of up to FOREST_ROWS rows in a tree. False: the tree is not small enough. */
bool forest_sweep(const forest_view *v, size_t tree, const float *columns, uint32_t *at,
                  size_t rows);
forest_view forest_view_of(const void *params);
/* kernel.prepare */
pgy_status forest_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err);
/* Checks everything that a run relies on, in parameters of any origin. */
bool forest_check(kernel_extent *e, const forest_params *p, uint64_t bytes);

#endif

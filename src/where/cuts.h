/* SPDX-License-Identifier: Apache-2.0 */
/* Where the walk may cut the model of side B: before a node where few bytes are alive. */
#ifndef WHERE_CUTS_H
#define WHERE_CUTS_H

#include "where/where.h"

typedef struct where_cuts {
    size_t node_count;
    uint64_t *values;  /* of a node: bytes of its outputs */
    uint64_t *weights; /* of a node: bytes of the weights that it reads */
    uint64_t *live;    /* before a node: bytes of outputs that it or later nodes read */
    bool *blocked;     /* before a node: a value that cannot be kept is alive */
    bool wide;         /* a side computes in float64, so its session has copies of all it reads */
} where_cuts;

/* `shown`: the tensors that side B shows; NULL: all. A fused group is not cut. Sizes that are
 * unknown count as `unknown_bytes`. */
pgy_status where_cuts_find(where_cuts *out, pgy_graph *g, const where_rows *rows,
                           const pgy_tensor_map *shown, uint64_t unknown_bytes, arena *memory,
                           pgy_error *err) PGY_MUST_CHECK;
/* The end of the segment that begins at node `begin`: as many nodes as fit `goal` bytes, shortened
 * to a narrow waist. */
size_t where_cuts_next(const where_cuts *c, size_t begin, uint64_t goal);
/* What it costs to compare all tensors of a segment in one run of each side. */
uint64_t where_cuts_cost(const where_cuts *c, size_t begin, size_t end);

/* What a segment needs at least, if each tensor is compared in a run of its own. */
typedef struct where_need {
    uint64_t bytes; /* all of the following */
    uint64_t values, weights, slices;
} where_need;
enum { WHERE_SLICES = 16 }; /* most slices of a tensor; more would take too many runs */
where_need where_cuts_least(const where_cuts *c, size_t begin, size_t end);

#endif

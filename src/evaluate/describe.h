/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs of subgraphs that do not run, as loops without iterations need them: sizes follow from
 * those of the tensors that the loop reads, by the dims that inference found; those that do not are
 * 0. */
#ifndef EVALUATE_DESCRIBE_H
#define EVALUATE_DESCRIBE_H

#include "graph/graph.h"

/* The size of a dimension that is more than a symbol. */
typedef struct describe_pair {
    dim x;
    int64_t size;
} describe_pair;

typedef struct describe {
    dim_bound *bounds; /* symbols whose size is known */
    size_t bound_count, bound_capacity;
    describe_pair *pairs;
    size_t pair_count, pair_capacity;
    dim *dims; /* of the outputs described last */
    size_t dim_capacity;
} describe;

void describe_deinit(describe *d);
/* Forgets all sizes. */
void describe_start(describe *d);
/* Notes the sizes of t, the tensor of value v; both may be NULL. */
pgy_status describe_note(describe *d, pgy_value *v, const pgy_tensor *t,
                         pgy_error *err) PGY_MUST_CHECK;
/* The size of a dimension; 0: unknown. */
int64_t describe_size(const describe *d, dim x);
/* Does inference know anything about the graph's outputs? Not in a function, whose shapes may
 * belong to another call. */
bool describe_can(const pgy_graph *g);
/* Gives outputs of g, with dims that live until the next call. */
pgy_status describe_outputs(describe *d, const pgy_graph *g, op_value *outputs, size_t count,
                            pgy_error *err) PGY_MUST_CHECK;

#endif

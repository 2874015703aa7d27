/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `inspect memory` share: a level of a graph while its tensors are followed. */
#ifndef INSPECT_MEMORY_H
#define INSPECT_MEMORY_H

#include <polygraphy/memory.h>

#include "graph/graph.h"
#include "graph/side_table.h"

typedef struct memory_buffer {
    size_t first, last;
    uint64_t size_bytes;
    bool held; /* by the caller: nobody else may write to it */
} memory_buffer;

/* One level while it is walked. */
typedef struct memory_walk {
    pgy_memory *m;
    pgy_graph *g;
    size_t step_count;
    pgy_memory_tensor *tensors;
    memory_buffer *buffers; /* per tensor; those that share use that of their root */
    size_t *roots;          /* per tensor */
    size_t count;
    id_places
        places; /* of values: one more than their place in `tensors`; 0: no memory of its own */
    uint64_t *starts, *ends; /* bytes per step */
    uint64_t *inner;
} memory_walk;

/* Lets the first output of n take the memory of an input, where an operator can work in place. */
void memory_share_output(memory_walk *w, const pgy_node *n);
/* Who shares memory lives as long as the memory. */
void memory_spread_lives(memory_walk *w);

#endif

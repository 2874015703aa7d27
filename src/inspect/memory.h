/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of `inspect memory`: the state while the live ranges of one graph or subgraph
 * are computed. */
#ifndef INSPECT_MEMORY_H
#define INSPECT_MEMORY_H

#include <polygraphy/memory.h>

#include "graph/graph.h"
#include "graph/side_table.h"

typedef struct memory_buffer {
    size_t first, last;
    uint64_t size_bytes;
    bool held; /* the caller owns it: no operator may write to it */
} memory_buffer;

/* The main graph or one subgraph, while its nodes are visited. Each node is one step. */
typedef struct memory_walk {
    pgy_memory *m;
    pgy_graph *g;
    size_t step_count;
    pgy_memory_tensor *tensors;
    memory_buffer *buffers; /* indexed by tensor; tensors that share memory use the buffer at their
                               root's index */
    size_t *roots;          /* indexed by tensor: the tensor whose buffer it uses */
    size_t count;
    /* indexed by value: its index in `tensors` plus one; 0: no memory of its own */
    id_places places;
    /* indexed by step: bytes of the buffers that come to life, or end, there */
    uint64_t *starts, *ends;
    uint64_t *inner;
} memory_walk;

/* Lets the first output of n share the memory of an input if n is a view or can work in place. */
void memory_share_output(memory_walk *w, const pgy_node *n);
/* Extends the live range of each tensor to that of its shared buffer. */
void memory_spread_lives(memory_walk *w);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over an output and up to three inputs that broadcast to it. A run is a range of output
 * elements in which every input either advances by one element or stays. */
#ifndef OPS_BROADCAST_H
#define OPS_BROADCAST_H

#include <polygraphy/tensor.h>

enum { BROADCAST_INPUTS = 3 };

/* The output's dimensions after merging neighbours that behave alike. The last one is a run: in it
 * each input steps by 1 or 0. */
typedef struct broadcast {
    size_t inputs, count, rank;
    size_t dims[PGY_MAX_RANK];
    size_t strides[BROADCAST_INPUTS][PGY_MAX_RANK]; /* in elements */
} broadcast;

void broadcast_init(broadcast *b, const pgy_tensor *out, const pgy_tensor *const *in,
                    size_t inputs);

/* Computes n output elements from index `at` on; input k begins at index from[k] and steps by
 * step[k] (0 or 1). */
typedef void (*broadcast_run)(size_t at, const size_t *from, const size_t *step, size_t n,
                              void *user);
/* Calls `run` for all elements, in pieces on several threads. */
void broadcast_each(const broadcast *b, broadcast_run run, void *user);

#endif

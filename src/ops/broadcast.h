/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over an output and up to three inputs that broadcast to it, in runs as long as possible. */
#ifndef OPS_BROADCAST_H
#define OPS_BROADCAST_H

#include <polygraphy/tensor.h>

enum { BROADCAST_INPUTS = 3 };

/* The merged dimensions. The last one is a run in which each input either steps by one or stays. */
typedef struct broadcast {
    size_t inputs, count, rank;
    size_t dims[PGY_MAX_RANK];
    size_t strides[BROADCAST_INPUTS][PGY_MAX_RANK]; /* in elements */
} broadcast;

void broadcast_init(broadcast *b, const pgy_tensor *out, const pgy_tensor *const *in,
                    size_t inputs);

/* n elements from `at` of the output; input k begins at from[k] and steps by step[k] (0 or 1). */
typedef void (*broadcast_run)(size_t at, const size_t *from, const size_t *step, size_t n,
                              void *user);
/* Calls `run` for all elements, in pieces on several threads. */
void broadcast_each(const broadcast *b, broadcast_run run, void *user);

#endif

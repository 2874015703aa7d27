/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of several ranks: what a DistCollective node asks for, and its computation on the
 * data of all ranks. The definition and the kernels share both. */
#ifndef OPS_CLASS_COLLECTIVE_H
#define OPS_CLASS_COLLECTIVE_H

#include "base/communicator.h"
#include "ops/op.h"

typedef enum collective_operation {
    COLLECTIVE_ALL_REDUCE,
    COLLECTIVE_ALL_GATHER,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_BROADCAST,
    COLLECTIVE_REDUCE,
    COLLECTIVE_GATHER,
    COLLECTIVE_SCATTER,
    COLLECTIVE_ALL_TO_ALL,
    COLLECTIVE_OPERATIONS
} collective_operation;

typedef enum collective_reduction {
    COLLECTIVE_SUM,
    COLLECTIVE_PROD,
    COLLECTIVE_MIN,
    COLLECTIVE_MAX,
    COLLECTIVE_AVG,
    COLLECTIVE_NONE,
    COLLECTIVE_REDUCTIONS
} collective_reduction;

/* Plain data, which plans store. */
typedef struct collective {
    uint32_t operation, reduction;
    uint32_t ranks;   /* of the group */
    uint32_t all;     /* 1: the group is all ranks of the run */
    int32_t root;     /* a rank of the group; -1: the operation has none */
    uint32_t type;    /* pgy_dtype */
    uint64_t members; /* bit i: rank i */
    uint64_t place;   /* hash of the node's name */
    uint64_t count;   /* elements of the input */
} collective;

/* Reads the node's attributes; `type` and `count` stay 0. PGY_E_FORMAT, PGY_E_ARGUMENT */
pgy_status collective_read(collective *out, const op_node *n, pgy_error *err) PGY_MUST_CHECK;
bool collective_is_valid(const collective *c); /* of any bytes */
const char *collective_name(uint32_t operation);
bool collective_reduces(uint32_t operation);
bool collective_divides(uint32_t operation);    /* axis 0 must be a multiple of the group's size */
bool collective_multiplies(uint32_t operation); /* axis 0 grows by the group's size */
bool collective_shrinks(uint32_t operation);    /* axis 0 is divided by the group's size */
uint64_t collective_out_count(const collective *c);

/* Checks that this thread is a rank of the group, and gives its place there. A group of one rank
 * needs no communicator. PGY_E_DEVICE, PGY_E_ARGUMENT */
pgy_status collective_find_self(const collective *c, uint32_t *self, pgy_error *err) PGY_MUST_CHECK;
/* Meets the other ranks of a group of more than one, to show data that is not the input. */
pgy_status collective_meet(const collective *c, uint64_t bytes, const void *data,
                           communicator_read read, void *user, pgy_error *err) PGY_MUST_CHECK;
/* Does a whole collective on host memory. Elements have `item` bytes. `reduce` writes the reduction
 * of elements [from, from + count) of all ranks, in the order of ranks. */
typedef void (*collective_reducer)(void *out, const void *const *data, const collective *c,
                                   uint64_t from, uint64_t count);
pgy_status collective_run(const collective *c, void *out, const void *in, size_t item,
                          collective_reducer reduce, pgy_error *err) PGY_MUST_CHECK;

#endif

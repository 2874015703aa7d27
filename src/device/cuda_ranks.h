/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of ranks that have a GPU each, by NCCL:
 *
 *     // while all members of a group wait for each other, one of them:
 *     pgy_status st = cuda_ranks_join(communicator, members, devices, count, err);
 *     // then each of them:
 *     cuda_ranks *r = NULL;
 *     st = cuda_ranks_find(&r, communicator, members, err);
 *     if (!st) st = cuda_ranks_enqueue(r, self, &call, stream, err);
 *
 * The communicators of NCCL live as long as the pgy_communicator. When that fails, they are
 * aborted, so that kernels which wait for a rank on the GPU end.
 */
#ifndef DEVICE_CUDA_RANKS_H
#define DEVICE_CUDA_RANKS_H

#include "base/communicator.h"
#include "device/cuda.h"

typedef struct cuda_ranks cuda_ranks;

typedef enum cuda_ranks_operation {
    CUDA_RANKS_ALL_REDUCE,
    CUDA_RANKS_ALL_GATHER,
    CUDA_RANKS_REDUCE_SCATTER,
    CUDA_RANKS_BROADCAST,
    CUDA_RANKS_REDUCE,
    CUDA_RANKS_GATHER, /* this and the following are sends and receives */
    CUDA_RANKS_SCATTER,
    CUDA_RANKS_ALL_TO_ALL
} cuda_ranks_operation;

/* ncclDataType_t and ncclRedOp_t */
typedef enum cuda_ranks_type {
    CUDA_RANKS_I8,
    CUDA_RANKS_U8,
    CUDA_RANKS_I32,
    CUDA_RANKS_U32,
    CUDA_RANKS_I64,
    CUDA_RANKS_U64,
    CUDA_RANKS_F16,
    CUDA_RANKS_F32,
    CUDA_RANKS_F64,
    CUDA_RANKS_BF16
} cuda_ranks_type;
typedef enum cuda_ranks_reduction {
    CUDA_RANKS_SUM,
    CUDA_RANKS_PROD,
    CUDA_RANKS_MAX,
    CUDA_RANKS_MIN,
    CUDA_RANKS_AVG
} cuda_ranks_reduction;

typedef struct cuda_ranks_call {
    cuda_ranks_operation operation;
    cuda_ranks_type type;
    cuda_ranks_reduction reduction;
    uint64_t count; /* elements of the input */
    uint64_t item;  /* bytes of an element */
    size_t root;    /* place in the group */
    const void *in; /* addresses on the device; they do not overlap */
    void *out;
} cuda_ranks_call;

/* Opens NCCL. PGY_E_NOT_FOUND: the library is not there, or lacks functions. */
pgy_status cuda_ranks_open(pgy_error *err) PGY_MUST_CHECK;
/* Makes the communicators of a group, unless they exist; its devices are in the order of ranks. A
 * failure is kept for cuda_ranks_find. */
void cuda_ranks_join(pgy_communicator *c, uint64_t members, device *const *devices, size_t count);
/* Borrowed. */
pgy_status cuda_ranks_find(cuda_ranks **out, pgy_communicator *c, uint64_t members,
                           pgy_error *err) PGY_MUST_CHECK;
/* Enqueues the part of one member, by its place in the group; the others must do the same. What
 * only the root gets is zero elsewhere. */
pgy_status cuda_ranks_enqueue(cuda_ranks *r, size_t self, const cuda_ranks_call *call,
                              device_stream *s, pgy_error *err) PGY_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL as a table of functions, opened when it is first needed. The types are those of nccl.h,
 * which is not needed to build. */
#ifndef DEVICE_CUDA_NCCL_H
#define DEVICE_CUDA_NCCL_H

#include "device/cuda/driver.h"

typedef struct ncclComm *nccl_comm;

typedef struct cuda_nccl {
#define X(member, symbol, result, arguments) result(*member) arguments;
#include "device/cuda/nccl.def"
#undef X
} cuda_nccl;

/* PGY_E_NOT_FOUND: the library is not there, or lacks functions; remembered for the process. */
pgy_status cuda_nccl_open(const cuda_nccl **out, pgy_error *err) PGY_MUST_CHECK;

#endif

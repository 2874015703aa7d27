/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of CUDA kernels: every kernel that accepts a node runs on a device into poisoned outputs,
 * and its results are compared with the operator's definition. */
#ifndef HARNESS_CUDA_CASE_H
#define HARNESS_CUDA_CASE_H

#include "device/device.h"
#include "ops/op.h"

typedef struct cuda_checker {
    device *device;
    device_stream *stream;
    bool idle;          /* launches have no effect, so results are not compared */
    size_t ran, failed; /* number of kernel runs, and of failures, over all nodes */
    /* About the node that was checked last: number of kernels that ran it, and whether the
     * operator's definition accepts its operands. */
    size_t accepted;
    bool allowed;
} cuda_checker;

/* Runs all kernels of the device that accept the node. Converts float32 operands to `type`
 * (float32, float16 or bfloat16) first, and makes operands constant where a kernel needs that.
 * Prints and counts the kernels whose results differ. */
void cuda_case_check(cuda_checker *c, const op_node *node, const op_tensor *inputs,
                     const bool *wanted, pgy_dtype type);

/* Checks a node with random operands in [-1, 1). A shape is a text such as "2x3x4"; "" is a scalar,
 * "-" an omitted operand, "?2x3" a bool tensor, "#2x3<7" an int64 tensor with elements below 7,
 * "#2=3" one whose elements are all 3; element 5 of "2x3=5" is an infinity.
 * "e2x3" is float8e4m3fn and "E2x3" float8e5m2.
 * "b2x3" is int8, "u2x3" uint8 and "i2x3" int32, with elements of the whole range of a byte;
 * "3~0.02" float32 between half and one and a half times 0.02, "3~=0.5" float32 that are 0.5.
 * Attributes: "axis=1 perm=0,2,1 alpha=0.5 mode=linear", where "_" in a text stands for a blank. */
void cuda_case_random(cuda_checker *c, const char *domain, const char *op, const char *attributes,
                      size_t inputs, const char *const *shapes, pgy_dtype type);

#endif

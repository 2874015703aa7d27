/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA kernels for problems that a family of host kernels computes, too. The host's kernel
 * describes the problem, makes the parameters and checks those of plan files; only the arithmetic
 * is done on the device. Where the host's kernel takes float32, operands may be in 16-bit floats.
 */
#ifndef KERNELS_CUDA_ADAPTED_H
#define KERNELS_CUDA_ADAPTED_H

#include "kernels/cuda/code.h"
#include "kernels/extent.h"

/* Precedes the host kernel's parameters in those of the CUDA kernel. */
typedef struct adapted_params {
    uint32_t inputs, outputs;
    uint64_t present;               /* bit i: operand i is given */
    uint32_t types[KERNEL_TENSORS]; /* pgy_dtype of the operands: inputs, then outputs */
} adapted_params;

/* What one call of `enqueue` works on. */
typedef struct adapted_run {
    const kernel_run *run;
    const adapted_params *a;
    const void *inner; /* parameters of the host's kernel */
    const cuda_loaded *loaded;
    device_stream *stream;
} adapted_run;

typedef struct adapted_family {
    const kernel *inner; /* the host's kernel for any processor */
    /* Does the kernel only move elements? Then the host's kernel sees 16-bit floats as they are,
     * else as float32. NULL: never. */
    bool (*is_move)(const kernel_problem *u);
    /* Is operand i float32 for the host's kernel? Then the device uses the type in the problem,
     * else the type that the parameters `inner` imply. NULL: all operands are. */
    bool (*is_float)(const void *inner, uint32_t inputs, uint32_t i);
    /* May all operands have their channels last? Results of elements are independent of their
     * places, but for an attribute `axis`. */
    bool any_order;
    /* Rewrites a plan that was prepared for a linear problem so that input 0 and output 0, of at
     * least three axes, have their channels last. NULL: such a problem is not accepted, unless in
     * any order. */
    pgy_status (*turn)(kernel_plan *plan, pgy_error *err);
    /* Can the device compute this problem, which `inner` accepts? NULL: any. */
    bool (*can)(const kernel_problem *u);
    /* Chooses the source to compile, and appends the macros that precede it. */
    void (*load)(cuda_source *s, str *defines, const adapted_params *a, const void *inner);
    pgy_status (*launch)(const adapted_run *r, pgy_error *err);
} adapted_family;

/* The families are in the order of the rows of KERNELS_cuda_adapted. */
extern const adapted_family ADAPTED_CHAIN, ADAPTED_CONCAT, ADAPTED_ELEMENTWISE, ADAPTED_EXPAND,
    ADAPTED_GATHER, ADAPTED_NORM, ADAPTED_PAD, ADAPTED_REDUCE, ADAPTED_RESIZE_NEAREST,
    ADAPTED_SLICE, ADAPTED_SOFTMAX, ADAPTED_TRANSPOSE, ADAPTED_BYTE_POOL, ADAPTED_BYTE_POOL_LAST,
    ADAPTED_LOOKUP, ADAPTED_QLINEAR, ADAPTED_QLINEAR_SOFTMAX, ADAPTED_QUANTIZE;

#endif

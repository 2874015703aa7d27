/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of host kernels whose problems CUDA devices compute, too: the CUDA kernels reuse
 * accept, prepare and extent of the host's kernel (kernels/cuda/adapted.h). */
#ifndef KERNELS_SHARED_PARAMS_H
#define KERNELS_SHARED_PARAMS_H

#include "kernels/byte_pool_scales.h"
#include "kernels/pixel_taps.h"
#include "kernels/pool_axes.h"
#include "kernels/strided_copy.h"
#include "kernels/walk.h"
#include "ops/class_chain.h"

enum { ELEMENTWISE_ARGS = 3 };

typedef struct elementwise_params {
    walk w;
    uint32_t loop, level; /* loop: row of elementwise.def */
    uint32_t inputs;      /* number of inputs of the problem */
    uint32_t fold;        /* operands are combined pairwise: y = f(y, next operand) */
    uint32_t out_bytes, in_bytes[KERNEL_MAX_INPUTS];
    float args[ELEMENTWISE_ARGS];
    float last; /* Mean divides the sum of its operands by this; 1 for other operators */
} elementwise_params;

typedef struct chain_params {
    walk w;
    chain program;
    uint32_t level, inputs, slots;
    uint8_t slot[CHAIN_STEPS]; /* scratch slot of each step's result */
    /* bit i: input i is broadcast into a scratch slot of its own, behind those of the steps */
    uint32_t written_out;
} chain_params;

typedef enum norm_kind {
    NORM_LAYER,
    NORM_ROOT,
    NORM_INSTANCE,
    NORM_GROUP,
    NORM_BATCH,
    NORM_LP
} norm_kind;

enum { NORM_NO_TENSOR = 255 };

/* A row is a set of elements that share mean and variance. */
typedef struct norm_params {
    uint64_t rows, length;        /* rows of the input, elements in a row */
    uint64_t channels, plane;     /* channels of the input; positions of one channel */
    uint64_t skip_count;          /* elements of the skip input, which is repeated; 0: no skip */
    uint32_t kind, level, silu;   /* silu: x sigmoid(x) follows */
    uint8_t scale, bias, extra;   /* operand indices; extra: bias added to the input */
    uint8_t y, mean, factor, sum; /* operand indices of outputs */
    float epsilon;
} norm_params;

typedef struct softmax_params {
    uint64_t outer, length, inner;
    uint32_t level, logarithm;
} softmax_params;

typedef enum reduce_kind {
    REDUCE_SUM,
    REDUCE_MEAN,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_PROD,
    REDUCE_L1,
    REDUCE_L2,
    REDUCE_SUM_SQUARE,
    REDUCE_LOG_SUM,
    REDUCE_LOG_SUM_EXP
} reduce_kind;

typedef struct reduce_params {
    walk kept, reduced; /* over the axes that are kept and reduced; the only operand is the input */
    uint32_t kind, level, inputs;
    uint32_t rows;  /* 1: the innermost axis is reduced */
    uint32_t bytes; /* bytes of an element: 4 for float32 and int32, 8 for int64 */
    uint32_t integer;
} reduce_params;

typedef struct transpose_params {
    strided_copy c;  /* must come first: strided_copy_plan relies on it */
    uint64_t turned; /* 1 + the axis of stride 1 that is transposed with the last axis; 0: none */
} transpose_params;

typedef struct gather_params {
    uint64_t outer, length, count, block; /* block: bytes that one index selects */
    uint32_t wide;                        /* 1: indices are int64; 0: int32 */
} gather_params;

typedef struct concat_params {
    uint64_t rows, row_bytes;
    uint64_t ends[KERNEL_MAX_INPUTS]; /* byte offsets in a row where segments end */
    uint32_t segments, splits; /* splits: the kernel is Split, so the whole tensor is the input */
    uint32_t first, whole;     /* operand indices of the first piece and of the whole tensor */
} concat_params;

/* ---- Quantised bytes ------------------------------------------------------------------------ */

/* x is seen as [outer, size, inner], the scales as [outer or 1, blocks, inner or 1]. */
typedef struct quantize_params {
    uint32_t level, quantises, type, inputs, has_zero, per_tensor, blocked;
    int32_t low, high;
    uint64_t count, size, inner, block, blocks;
} quantize_params;

enum { LOOKUP_VALUES = 256, LOOKUP_SEGMENTS = 15 };

/* The output consists of rows; each segment of a row comes from one input. */
typedef struct lookup_params {
    uint32_t level, inputs, segments;
    uint64_t rows, row_bytes, ends[LOOKUP_SEGMENTS];
    uint32_t place[LOOKUP_SEGMENTS]; /* index of the segment's input */
    /* 1: the table maps each byte to itself, so the segment is only copied. */
    uint32_t copies[LOOKUP_SEGMENTS];
    uint8_t table[LOOKUP_SEGMENTS][LOOKUP_VALUES]; /* indexed by the byte as stored */
} lookup_params;

/* `length` elements are a row; consecutive ones lie `inner` bytes apart. */
typedef struct qlinear_softmax_params {
    uint64_t outer, length, inner;
    uint32_t level, inputs;
    byte_softmax q;
} qlinear_softmax_params;

typedef struct qlinear_params {
    walk w;
    byte_binary q;
    uint32_t level, inputs;
} qlinear_params;

typedef enum byte_pool_kind { BYTE_POOL_MAX, BYTE_POOL_MEAN, BYTE_POOL_MEAN_OF_ALL } byte_pool_kind;

/* Pooling plane by plane. */
typedef struct byte_pool_params {
    uint32_t level, kind, inputs, count_padding;
    uint8_t flip;
    byte_pool_scales scales;
    uint64_t planes;
    pool_axes axes;
} byte_pool_params;

/* Pooling of images whose channels are last. */
typedef struct byte_pool_last_params {
    uint32_t level, inputs, mean, global, count_padding;
    uint8_t flip;
    byte_pool_scales scales;
    uint64_t batch, channels;
    int64_t end[PIXEL_AXES]; /* padding */
    pixel_window w;
} byte_pool_last_params;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs float32 kernels on float16 and bfloat16 tensors: kernel "half:NAME" converts the inputs,
 * calls kernel NAME and converts its outputs. */
#ifndef KERNELS_HALF_ADAPTER_H
#define KERNELS_HALF_ADAPTER_H

#include "kernels/extent.h"

/* Returns a table of kernels "half:NAME", one for each kernel in `families` that needs it; the last
 * entry has name NULL. `families` lists tables and ends with NULL. The first call makes the table
 * and must return before any other call starts. */
const kernel *half_adapter_table(const kernel *const *families);

/* ---- half_adapter_run.c --------------------------------------------------------------------- */

/* Where the inner kernel reads or writes a tensor. */
typedef enum half_adapter_place {
    PLACE_CALLER, /* in the caller's memory */
    PLACE_PACKED, /* behind the packed bytes of the inner kernel */
    PLACE_WIDE    /* widened in the workspace or, with chunks, staged in scratch memory */
} half_adapter_place;

typedef struct half_adapter_tensor {
    uint8_t place;
    uint8_t packed;     /* 1: a constant, read as float32 from the packed data */
    uint8_t wide;       /* 1: an output that the caller has in float32, rounded to `half` */
    uint8_t item;       /* bytes of an element as the inner kernel sees it */
    uint32_t half;      /* PGY_F16 or PGY_BF16 if converted or rounded, else 0 */
    uint64_t count;     /* number of elements in its layout, padding lanes included */
    uint64_t row_count; /* elements per row; 0: all rows share the tensor */
    uint64_t source;    /* byte offset in the packed data of a `packed` tensor */
    uint64_t at;        /* byte offset in packed data, workspace or scratch, by place */
} half_adapter_tensor;

typedef struct half_adapter_params {
    uint32_t level;
    uint32_t inputs, outputs;
    uint32_t inner_phases, inner_parts;
    /* Number of phases (0 or 1) before and behind those of the inner kernel, which widen inputs,
     * and narrow or round outputs. */
    uint32_t widens, narrows;
    uint64_t rows, chunk; /* chunk: rows per chunk; 0: the problem is not cut */
    uint64_t inner_at;    /* byte offset of the inner kernel's parameters */
    /* Byte offsets of the inner kernel's workspace and scratch in the adapter's. With chunks, both
     * lie in scratch memory. */
    uint64_t inner_memory, inner_scratch;
    uint64_t has_packed;
    half_adapter_tensor tensors[]; /* inputs, then outputs: plans store no more than there are */
} half_adapter_params;

void half_adapter_run(const kernel_run *r);

/* ---- half_adapter_table.c ------------------------------------------------------------------- */

/* Makes the entries of that table; each has the functions of `like`. */
const kernel *half_adapter_wrap(const kernel *const *families, const kernel *like);
/* The float32 kernel that an entry of that table wraps. */
const kernel *half_adapter_inner(const kernel *self);

/* ---- half_adapter_rows.c -------------------------------------------------------------------- */

enum { HALF_ADAPTER_TENSORS = KERNEL_TENSORS, HALF_ADAPTER_RANK = 8 };

/* A problem cut into chunks of independent rows. One kernel, prepared for the shape of a chunk,
 * computes them all. */
typedef struct half_adapter_rows {
    uint64_t rows, chunk; /* chunk: rows in one chunk */
    /* For each input, then output: elements in a row; 0: all rows share the tensor. */
    uint64_t row_count[HALF_ADAPTER_TENSORS];
    int64_t shapes[HALF_ADAPTER_TENSORS][HALF_ADAPTER_RANK];
    kernel_problem problem; /* the problem of one chunk; points into `shapes` */
} half_adapter_rows;

/* `wide`: the problem in float32, with the layouts that `inner` accepted. False: rows depend on
 * each other, or the problem cannot be cut for another reason. */
bool half_adapter_cut(half_adapter_rows *out, const kernel *inner, const kernel_problem *wide);

#endif

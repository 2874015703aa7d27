/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the kernel for MultiHeadAttention and ProjectedAttention. */
#ifndef KERNELS_MULTI_HEAD_ATTENTION_H
#define KERNELS_MULTI_HEAD_ATTENTION_H

#include "kernels/attention_rows.h"
#include "kernels/extent.h"

enum {
    HEADS_QUERY,
    HEADS_KEY,
    HEADS_VALUE,
    HEADS_BIAS,
    HEADS_PADDING,
    HEADS_SCORES,
    HEADS_PAST_K,
    HEADS_PAST_V,
    HEADS_PAST_LENGTH,
    HEADS_BEAMS
};
/* Inputs of ProjectedAttention. */
enum { HEADS_PROJECTED_PADDING = 1, HEADS_PROJECTED_PAST, HEADS_PROJECTED_SCORES };
/* What the padding mask holds: numbers of keys, ends and then starts of keys, or flags. */
typedef enum heads_mask_kind {
    HEADS_NO_MASK,
    HEADS_ENDS,
    HEADS_STARTS,
    HEADS_FLAGS
} heads_mask_kind;

/* Where queries, keys or values are: strides along batch, head and row. */
typedef struct heads_source {
    uint64_t length, size;            /* rows and elements of a head */
    uint64_t first, batch, head, row; /* first: element of the input at which the part begins */
    uint64_t bias;                    /* 1 + the part's first element in the bias; 0: none */
    uint32_t input, unused;
} heads_source;

typedef struct heads_params {
    uint64_t batch, heads, past;
    heads_source of[3];
    uint64_t mask_rows;                        /* rows of numbers per batch entry */
    /* Strides of a mask of flags along batch entries and query rows; index of its first flag. */
    uint64_t mask_batch, mask_row, mask_first;
    uint64_t bias_batch, bias_heads,
        bias_count; /* of what is added to scores; elements of HEADS_BIAS */
    uint32_t level, inputs, mask, causal;
    uint32_t present;   /* bit 0: keys are an output, bit 1: values are */
    uint32_t projected; /* 1: ProjectedAttention, whose caches are one tensor, keys first */
    float scale, filter;
} heads_params;

/* The index of input i of MultiHeadAttention, or its place in ProjectedAttention. */
static inline uint32_t heads_operand(const heads_params *p, uint32_t i)
{
    if (!p->projected) return i;
    return i == HEADS_PADDING  ? HEADS_PROJECTED_PADDING
           : i == HEADS_SCORES ? HEADS_PROJECTED_SCORES
                               : HEADS_PROJECTED_PAST;
}

static inline uint64_t heads_keys(const heads_params *p)
{
    return p->past + p->of[1].length;
}

static inline uint64_t heads_row_units(const heads_params *p)
{
    return (p->of[0].length + ATTENTION_ROWS - 1) / ATTENTION_ROWS;
}

/* Does a unit gather the rows of its head? */
static inline bool heads_alone(const heads_params *p)
{
    return heads_row_units(p) == 1;
}

static inline uint32_t heads_phases(const heads_params *p)
{
    return heads_alone(p) && !p->mask ? 1 : 2;
}

/* Floats of the workspace in front of the queries, keys, values and numbers of the mask, and of all
 * of it. */
enum { HEADS_PLACES = 5 };
void heads_places(uint64_t places[HEADS_PLACES], const heads_params *p);
bool heads_extent(kernel_extent *e, const kernel_claim *q);

#endif

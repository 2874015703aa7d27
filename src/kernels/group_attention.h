/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the kernel for com.microsoft GroupQueryAttention. */
#ifndef KERNELS_GROUP_ATTENTION_H
#define KERNELS_GROUP_ATTENTION_H

#include "kernels/attention_rows.h"
#include "kernels/extent.h"

/* The operator's inputs. */
enum {
    GROUP_QUERY,
    GROUP_KEY,
    GROUP_VALUE,
    GROUP_PAST_K,
    GROUP_PAST_V,
    GROUP_LENGTHS,
    GROUP_TOTAL,
    GROUP_COS,
    GROUP_SIN,
    GROUP_POSITIONS,
    GROUP_BIAS,
    GROUP_SINK,
    GROUP_K_SCALE,
    GROUP_V_SCALE,
    GROUP_Q_NORM,
    GROUP_K_NORM
};

/* Logits that only add to the softmax's denominator. */
typedef enum group_sinks { GROUP_NO_SINKS, GROUP_SINKS_ZERO, GROUP_SINKS_GIVEN } group_sinks;

typedef struct group_params {
    uint64_t batch, heads, kv_heads, rows, size;
    uint64_t past, capacity;    /* lengths of the caches of the input and of the output */
    uint64_t half, places, ids; /* rotated pairs, 0: none; rows of the tables; position ids */
    uint64_t bias_batch, bias_heads, bias_keys; /* shape of the bias; bias_keys 0: no bias */
    int64_t window;                             /* < 0: none */
    uint32_t level, inputs, packed, causal, interleaved, sinks;
    uint32_t normed; /* bit 0: queries are normalised; bit 1: keys */
    float scale, cap, epsilon;
} group_params;

/* False: the kernel does not compute this problem. */
bool group_attention_describe(group_params *p, const kernel_problem *u);
bool group_attention_extent(kernel_extent *e, const kernel_claim *q);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Attention with a cache whose filled length differs by batch entry, for ONNX Runtime's decoders.
 * Several query heads share one head of keys and values; rotary embedding is applied here, and a
 * function decides for each query and key whether the key is masked. */
#ifndef OPS_CLASS_GROUP_ATTENTION_H
#define OPS_CLASS_GROUP_ATTENTION_H

#include "ops/class_check.h"

typedef struct group_attention {
    const op_eval *c;
    /* rows: number of new tokens per batch entry; size: elements of one head */
    size_t batch, heads, kv_heads, rows, size;
    /* total: keys of the longest sequence; capacity: length of the output caches */
    size_t total, capacity;
    size_t *lengths, *pasts; /* for each batch entry: number of all keys; number of past keys */
    double *q;               /* [batch, heads, rows, size] */
    double *keys, *values;   /* [batch, kv_heads, capacity, size] */
    double scale, cap;
    bool causal, smooth;
    int64_t window;      /* keys a query sees, itself included; < 0: all */
    const double *sinks; /* for each head a logit that only adds to the softmax's denominator; NULL
                            with `smooth`: 0 */
    size_t bias, bias_strides[4]; /* bias: index of the input that is added to the scores */
    double *scores;               /* [batch, heads, rows, total] or NULL */
    bool scores_after; /* true: `scores` receives the scores after the softmax, else before it */
    /* May the query at a position see a key? NULL: yes. */
    bool (*sees)(const void *user, size_t head, size_t position, size_t key);
    const void *user;
} group_attention;

/* The node's input for each role. For a role that the operator lacks, the index is past the last
 * input. */
typedef struct group_inputs {
    size_t query, key, value, past_key, past_value, lengths, total, cos, sin, positions;
    size_t q_norm, k_norm; /* weights of a root mean square norm of each head before its rotation */
    int64_t length_shift;  /* added to the values of `lengths` */
    bool shared;           /* past and present caches have the same length */
} group_inputs;

/* Shape rule for output 0 and the caches. */
pgy_status group_attention_infer(op_infer *c, const group_inputs *in,
                                 pgy_error *err) PGY_MUST_CHECK;
/* Reads sizes and lengths, splits the heads, applies the rotary embedding to queries and new keys,
 * and fills the caches. The caller must call group_attention_deinit even after an error. */
pgy_status group_attention_prepare(group_attention *g, const op_eval *c, const group_inputs *in,
                                   pgy_error *err) PGY_MUST_CHECK;
/* Computes output 0 and, where wanted, the caches in outputs 1 and 2. */
pgy_status group_attention_run(group_attention *g, pgy_error *err) PGY_MUST_CHECK;
void group_attention_deinit(group_attention *g);

#endif

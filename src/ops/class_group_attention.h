/* SPDX-License-Identifier: Apache-2.0 */
/* Attention with a cache whose filled length differs by batch entry, for ONNX Runtime's decoders.
 * Several query heads share one head of keys and values; rotary embedding is applied here, and the
 * mask is decided per query and key. */
#ifndef OPS_CLASS_GROUP_ATTENTION_H
#define OPS_CLASS_GROUP_ATTENTION_H

#include "ops/class_check.h"

typedef struct group_attention {
    const op_eval *c;
    size_t batch, heads, kv_heads, rows, size; /* rows: new tokens; size: elements of a head */
    size_t total, capacity;                    /* longest sequence; length of the present cache */
    size_t *lengths, *pasts;                   /* per batch entry: all keys; the past ones */
    double *q;                                 /* [batch, heads, rows, size] */
    double *keys, *values;                     /* [batch, kv_heads, capacity, size] */
    double scale, cap;
    bool causal, smooth;
    int64_t window;               /* keys a query sees, itself included; < 0: all */
    const double *sinks;          /* per head, joins the denominator; with smooth and NULL: 0 */
    size_t bias, bias_strides[4]; /* input added to the scores */
    double *scores;               /* [batch, heads, rows, total] or NULL */
    bool scores_after;            /* `scores` are those after the softmax */
    /* May the query at a position see a key? NULL: yes. */
    bool (*sees)(const void *user, size_t head, size_t position, size_t key);
    const void *user;
} group_attention;

/* Positions of the input tensors; an input that an operator lacks has a position past the end. */
typedef struct group_inputs {
    size_t query, key, value, past_key, past_value, lengths, total, cos, sin, positions;
    size_t q_norm, k_norm; /* weights of a root mean square norm of each head before it is turned */
    int64_t length_shift;  /* added to the values of `lengths` */
    bool shared;           /* past and present caches have the same length */
} group_inputs;

/* Shape rule for output and caches. */
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

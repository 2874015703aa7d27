/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by ONNX Runtime's attention operators: they add the biases of the projections, convert
 * masks given as lengths or flags, and then run ONNX's Attention. */
#ifndef OPS_CLASS_PACKED_ATTENTION_H
#define OPS_CLASS_PACKED_ATTENTION_H

#include "ops/class_check.h"

typedef struct packed_attention {
    op_tensor parts[6]; /* query, key, value [B, length, width]; mask (made here); past key, value
                           [B, heads, past, size] or empty */
    op_tensor made[4]; /* results: the output, the caches of keys and values with the past in front,
                          and the scores if `scores` */
    /* indices of two inputs: the padding mask and the bias that is added to the scores */
    size_t mask, bias;
    bool scores; /* whether to return the scores, after the softmax */
} packed_attention;

/* Reads num_heads, scale, unidirectional and mask_filter_value from the node. */
pgy_status packed_attention_run(packed_attention *a, const op_eval *c,
                                pgy_error *err) PGY_MUST_CHECK;
void packed_attention_deinit(packed_attention *a);

#endif

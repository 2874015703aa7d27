/* SPDX-License-Identifier: Apache-2.0 */
/* Attention over sequences of different lengths that lie one behind the other, without padding. */
#ifndef OPS_CLASS_TOKEN_ATTENTION_H
#define OPS_CLASS_TOKEN_ATTENTION_H

#include "ops/class_check.h"

typedef struct token_part {
    const double *data;
    size_t stride;      /* elements from one token to the next */
    size_t head;        /* elements from one head to the next */
    size_t size;        /* elements of a head */
    const double *bias; /* of a head's elements, heads one behind the other; NULL: none */
} token_part;

typedef struct token_attention {
    const op_eval *c;
    token_part query, key, value;
    size_t heads, tokens;
    /* indices of the inputs: offsets of the tokens [batch, length], the first token of each
     * sequence and the number of all [batch + 1], and what is added to the scores */
    size_t offsets, firsts, bias;
    double scale;
} token_attention;

/* Checks the inputs that both operators have. PGY_E_SHAPE, PGY_E_ARGUMENT */
pgy_status token_attention_check(const token_attention *a, pgy_error *err) PGY_MUST_CHECK;
/* Computes output 0, [tokens, heads * size of a value]. */
pgy_status token_attention_run(const token_attention *a, pgy_error *err) PGY_MUST_CHECK;

#endif

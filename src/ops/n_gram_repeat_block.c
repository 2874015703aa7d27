/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft NGramRepeatBlock: a token gets the score -inf if, behind the last tokens, it would
 * repeat an n-gram that the sequence has already. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/class_check.h"

static const op_attr_def ATTRS[] = {
    {"ngram_size", OP_ATTR_INT, true, NULL, .range = "1.."},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *scores = &c->inputs[1];
    pgy_status st = rank_check(c, 0, 2, 2, err);
    if (!st) st = rank_check(c, 1, 2, 2, err);
    if (!st && scores->rank == 2) st = dim_check(c, 0, 0, scores->dims[0], "the batch", err);
    op_set_like(c, 0, 1);
    return st;
}

static pgy_status block_row(double *scores, size_t vocabulary, const int64_t *tokens, size_t count,
                            size_t size, const op_node *n, pgy_error *err)
{
    if (count + 1 < size) return PGY_OK;
    const int64_t *last = tokens + count - (size - 1);
    for (size_t i = 0; i + size <= count; i++) {
        if (memcmp(tokens + i, last, (size - 1) * sizeof *tokens)) continue;
        const int64_t token = tokens[i + size - 1];
        if (token < 0 || (uint64_t)token >= vocabulary)
            return op_error(n, err, PGY_E_ARGUMENT,
                            "token %" PRId64 " lies outside of the %zu scores", token, vocabulary);
        scores[token] = -INFINITY;
    }
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "IF", err);
    if (st || !out_count(c, 0)) return st;
    const size_t vocabulary = (size_t)in_shape(c, 1)[1], count = (size_t)in_shape(c, 0)[1];
    const size_t size = (size_t)op_attr_int(c->node, "ngram_size", 1);
    memcpy(out_f64(c, 0), in_f64(c, 1), out_count(c, 0) * sizeof(double));
    for (size_t i = 0; !st && i < (size_t)in_shape(c, 0)[0]; i++)
        st = block_row(out_f64(c, 0) + i * vocabulary, vocabulary, in_i64(c, 0) + i * count, count,
                       size, c->node, err);
    return st;
}

const op_def OP_n_gram_repeat_block[] = {
    {"NGramRepeatBlock", "com.microsoft", 1, 0, 2, 2, 1, 1, 0, ATTRS, "int64", infer, eval, NULL,
     .signature = "I = int64; T = float32; input_ids:I, scores:T -> scores_out:T"},
    {NULL},
};

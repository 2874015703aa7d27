/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft BifurcationDetector, of aggressive decoding: takes the predicted tokens up to and
 * with the first that differs from the source behind the last match, and looks for the end of the
 * result in the source. A match is an n-gram that the source has once; output 1 is the place behind
 * it, or -1. */
#include <inttypes.h>
#include <string.h>

#include "ops/class_check.h"

enum { SOURCE, CURRENT, INDEX, PREDICTED };

static const op_attr_def ATTRS[] = {
    {"max_ngram_size", OP_ATTR_INT, false, "3", NULL, "1.."},
    {"min_ngram_size", OP_ATTR_INT, false, "1", NULL, "1.."},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const int64_t least = op_attr_int(c->node, "min_ngram_size", 1);
    const int64_t most = op_attr_int(c->node, "max_ngram_size", 3);
    pgy_status st = rank_check(c, SOURCE, 1, 1, err);
    if (!st) st = rank_check(c, CURRENT, 1, 1, err);
    if (!st) st = rank_check(c, INDEX, 0, 1, err);
    if (!st) st = rank_check(c, PREDICTED, 1, 1, err);
    if (st) return st;
    if (least > most)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attributes min_ngram_size (%" PRId64 ") and max_ngram_size (%" PRId64
                        ") leave no size",
                        least, most);
    op_set_unknown(c, 0, PGY_I64, 1, "it depends on the predicted tokens");
    if (!op_has_input(c, PREDICTED)) op_set_like(c, 0, CURRENT);
    op_set_like(c, 1, INDEX);
    return PGY_OK;
}

/* How many predicted tokens are taken. */
static pgy_status count_taken(size_t *out, const op_eval *c, pgy_error *err)
{
    const size_t source = in_count(c, SOURCE), predicted = in_count(c, PREDICTED);
    const int64_t index = *in_i64(c, INDEX);
    size_t same = 0;
    *out = 0;
    if (!op_has_value(c, PREDICTED)) return PGY_OK;
    if (index < 0 || (uint64_t)index > source)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "input 2 (prev_suffix_match_idx) is %" PRId64
                        ", but must lie in [0, %zu], the places of the source",
                        index, source);
    const size_t left = source - (size_t)index;
    if (predicted != left + 1)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input 3 (pred_tokens) has %zu tokens, but %zu of the source are left, to "
                        "which one more belongs",
                        predicted, left);
    while (same < left && in_i64(c, SOURCE)[(size_t)index + same] == in_i64(c, PREDICTED)[same])
        same++;
    *out = same + 1;
    return PGY_OK;
}

/* The place behind the only occurrence of the last n tokens in the source: -1 if there is none, -2
 * if there are several. */
static int64_t find_last(const op_eval *c, const int64_t *tokens, size_t count, size_t n)
{
    const size_t source = in_count(c, SOURCE);
    int64_t found = -1;
    for (size_t i = 0; i + n <= source; i++) {
        if (memcmp(in_i64(c, SOURCE) + i, tokens + count - n, n * sizeof *tokens) != 0) continue;
        if (found >= 0) return -2;
        found = (int64_t)(i + n);
    }
    return found;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const size_t current = in_count(c, CURRENT);
    const size_t most = (size_t)op_attr_int(c->node, "max_ngram_size", 3);
    size_t taken;
    pgy_status st = inputs_check(c, "IIIi", err);
    if (!st && in_count(c, INDEX) != 1)
        st = op_error(c->node, err, PGY_E_SHAPE,
                      "input 2 (prev_suffix_match_idx) must have one element");
    if (!st) st = count_taken(&taken, c, err);
    if (st) return st;
    const int64_t count = (int64_t)(current + taken);
    st = op_output(c, 0, PGY_I64, 1, &count, err);
    if (st) return st;
    int64_t *tokens = out_i64(c, 0), found = -2;
    if (current) memcpy(tokens, in_i64(c, CURRENT), current * sizeof *tokens);
    if (taken) memcpy(tokens + current, in_i64(c, PREDICTED), taken * sizeof *tokens);
    /* an n-gram that the source lacks is no part of a longer one that it has */
    for (size_t n = (size_t)op_attr_int(c->node, "min_ngram_size", 1);
         found == -2 && n <= most && n <= (size_t)count; n++)
        found = find_last(c, tokens, (size_t)count, n);
    *out_i64(c, 1) = found < 0 ? -1 : found;
    return PGY_OK;
}

const op_def OP_bifurcation_detector[] = {
    {"BifurcationDetector", "com.microsoft", 1, 0, 3, 4, 2, 2, 0, ATTRS, "int64", infer, eval, NULL,
     .signature = "T = int64; src_tokens:T, cur_tokens:T, prev_suffix_match_idx:T, ?pred_tokens:T "
                  "-> tokens:T, suffix_match_idx:T"},
    {NULL},
};

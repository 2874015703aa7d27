/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft RemovePadding: concatenates the tokens [batch, length, width] without the padding
 * at the end of each sequence. Further outputs are the positions of the tokens, then those of the
 * padding; the running sum of lengths; and the largest length. RestorePadding puts tokens back to
 * their positions and fills the rest with zeros. */
#include <inttypes.h>
#include <string.h>

#include "ops/class_check.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    pgy_status st = rank_check(c, 0, 3, 3, err);
    if (!st) st = rank_check(c, 1, 1, 1, err);
    if (!st && x->rank == 3) st = dim_check(c, 1, 0, x->dims[0], "the batch", err);
    if (st) return st;
    dim *rows = op_dims(c, 2), *ends = op_dims(c, 1), *one = op_dims(c, 1);
    if (!rows || !ends || !one) return rule_no_memory(c->node, err);
    rows[0] = dim_unknown(c->dims, "it depends on the token counts");
    rows[1] = x->rank == 3 ? x->dims[2] : dim_unknown(c->dims, "the width is not known");
    ends[0] = x->rank == 3 ? dim_add(c->dims, x->dims[0], dim_const(1))
                           : dim_unknown(c->dims, "the batch is not known");
    one[0] = dim_const(1);
    op_set_output(c, 0, x->dtype, 2, rows);
    output_set(c, 1, PGY_I32, x->rank < 0 ? -1 : 2, x->dims);
    output_set(c, 2, PGY_I32, 1, ends);
    output_set(c, 3, PGY_I32, 1, one);
    return PGY_OK;
}

static pgy_status add_counts(size_t *total, const op_eval *c, pgy_error *err)
{
    const int64_t *counts = in_i64(c, 1), length = in_shape(c, 0)[1];
    int64_t sum = 0, most = 0;
    for (size_t b = 0; b < in_count(c, 1); b++) {
        if (counts[b] < 0 || counts[b] > length)
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "sequence %zu has %" PRId64 " tokens, but its length is %" PRId64, b,
                            counts[b], length);
        sum += counts[b];
        if (counts[b] > most) most = counts[b];
        if (out_i64(c, 2)) out_i64(c, 2)[b + 1] = sum;
    }
    if (out_i64(c, 3)) out_i64(c, 3)[0] = most;
    *total = (size_t)sum;
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    size_t total = 0, next = 0;
    pgy_status st = inputs_check(c, "FI", err);
    if (!st) st = add_counts(&total, c, err);
    if (st) return st;
    const int64_t *s = in_shape(c, 0);
    const size_t length = (size_t)s[1], width = (size_t)s[2];
    st = op_output(c, 0, PGY_DTYPE_NONE, 2, (int64_t[]){(int64_t)total, s[2]}, err);
    if (st) return st;
    size_t padding = total;
    for (size_t b = 0; b < (size_t)s[0]; b++)
        for (size_t t = 0; t < length; t++) {
            const size_t from = b * length + t;
            const bool real = (int64_t)t < in_i64(c, 1)[b];
            const size_t to = real ? next++ : padding++;
            if (real && width)
                memcpy(out_f64(c, 0) + to * width, in_f64(c, 0) + from * width,
                       width * sizeof(double));
            if (out_i64(c, 1)) out_i64(c, 1)[to] = (int64_t)from;
        }
    return PGY_OK;
}

static pgy_status restore_infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0], *places = &c->inputs[1];
    pgy_status st = rank_check(c, 0, 2, 2, err);
    if (!st) st = rank_check(c, 1, 2, 2, err);
    if (st) return st;
    dim *dims = op_dims(c, 3);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t d = 0; d < 2; d++)
        dims[d] = places->rank == 2
                      ? places->dims[d]
                      : dim_unknown(c->dims, "the shape of token_offset is not known");
    dims[2] = x->rank == 2 ? x->dims[1] : dim_unknown(c->dims, "the width is not known");
    op_set_output(c, 0, x->dtype, 3, dims);
    return PGY_OK;
}

static pgy_status restore_eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "FI", err);
    if (st) return st;
    const size_t tokens = (size_t)in_shape(c, 0)[0], width = (size_t)in_shape(c, 0)[1];
    if (tokens > in_count(c, 1))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "there are %zu tokens, but token_offset has only %zu places", tokens,
                        in_count(c, 1));
    for (size_t i = 0; i < tokens; i++) {
        const int64_t to = in_i64(c, 1)[i];
        if (to < 0 || (uint64_t)to >= in_count(c, 1))
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "token_offset has place %" PRId64 ", but there are only %zu places", to,
                            in_count(c, 1));
        if (width)
            memcpy(out_f64(c, 0) + (size_t)to * width, in_f64(c, 0) + i * width,
                   width * sizeof(double));
    }
    return PGY_OK;
}

const op_def OP_remove_padding[] = {
    {"RemovePadding", "com.microsoft", 1, 0, 2, 2, 1, 4, 0, NULL, TYPES_F4, infer, eval, NULL,
     .signature =
         "T = float16 float32 float64 bfloat16; M = int32; input:T, sequence_token_count:M -> "
         "output:T, ?token_offset:M, ?cumulated_seq_len:M, ?max_seq_len:M"},
    {"RestorePadding", "com.microsoft", 1, 0, 2, 2, 1, 1, 0, NULL, TYPES_F4, restore_infer,
     restore_eval, NULL,
     .signature =
         "T = float16 float32 float64 bfloat16; M = int32; input:T, token_offset:M -> output:T"},
    {NULL},
};

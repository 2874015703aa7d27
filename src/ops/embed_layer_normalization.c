/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft EmbedLayerNormalization: the sum of the embeddings of word, position and segment,
 * normalised. Output 1 counts the ones of the mask per batch entry; output 2 is the sum. */
#include <math.h>

#include "ops/class_norm.h"

enum { IDS, SEGMENTS, WORD, POSITION, SEGMENT, GAMMA, BETA, MASK, POSITIONS };

static const op_attr_def ATTRS[] = {
    {"epsilon", OP_ATTR_FLOAT, false, "1e-12"},
    {"mask_index_type", OP_ATTR_INT, false, "0"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    static const int RANKS[] = {2, 2, 2, 2, 2, 1, 1, 2, 2};
    const op_value *ids = &c->inputs[IDS], *word = &c->inputs[WORD];
    const pgy_dtype dtype = word->dtype;
    pgy_status st = PGY_OK;
    for (size_t i = IDS; !st && i <= POSITIONS; i++) {
        st = rank_check(c, i, RANKS[i], RANKS[i], err);
        if (!st && word->rank == 2 && i >= WORD && i <= BETA)
            st = dim_check(c, i, i >= GAMMA ? 0 : 1, word->dims[1], "the hidden size", err);
        for (size_t d = 0; !st && d < 2 && (i == SEGMENTS || i == MASK) && ids->rank == 2; d++)
            st = dim_check(c, i, d, ids->dims[d], "the same dimension of the words", err);
    }
    if (st) return st;
    if (ids->rank < 0 || word->rank < 0) {
        for (size_t i = 0; i < c->node->output_count; i++)
            op_set_unknown(c, i, i == 1 ? PGY_I32 : dtype, i == 1 ? 1 : 3,
                           "the shape of an input is not known");
        return PGY_OK;
    }
    dim *dims = op_dims(c, 3);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = ids->dims[0];
    dims[1] = ids->dims[1];
    dims[2] = word->dims[1];
    op_set_output(c, 0, dtype, 3, dims);
    output_set(c, 1, PGY_I32, 1, dims);
    output_set(c, 2, dtype, 3, dims);
    return PGY_OK;
}

/* Gives row `index` of an embedding table; NULL if the table's input is absent. */
static pgy_status find_row(const double **row, const op_eval *c, size_t table, int64_t index,
                           pgy_error *err)
{
    *row = NULL;
    if (!in_f64(c, table)) return PGY_OK;
    const int64_t *s = in_shape(c, table);
    if (index < 0 || index >= s[0])
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "row %lld lies outside the table in input %zu, which has %lld rows",
                        (long long)index, table, (long long)s[0]);
    *row = in_f64(c, table) + index * s[1];
    return PGY_OK;
}

static void normalise(const op_eval *c, double *y, size_t width, double epsilon)
{
    const norm_stats s = norm_of(y, width);
    const double factor = 1 / sqrt(s.variance + epsilon), *gamma = in_f64(c, GAMMA),
                 *beta = in_f64(c, BETA);
    for (size_t j = 0; j < width; j++) y[j] = (y[j] - s.mean) * factor * gamma[j] + beta[j];
}

static pgy_status embed(const op_eval *c, size_t i, size_t length, size_t width, pgy_error *err)
{
    const double *rows[3];
    const int64_t *positions = in_i64(c, POSITIONS), *segments = in_i64(c, SEGMENTS);
    const size_t given = in_count(c, POSITIONS);
    pgy_status st = find_row(&rows[0], c, WORD, in_i64(c, IDS)[i], err);
    if (!st)
        st = find_row(&rows[1], c, POSITION, given ? positions[i % given] : (int64_t)(i % length),
                      err);
    if (!st) st = find_row(&rows[2], c, SEGMENT, segments ? segments[i] : 0, err);
    if (st) return st;
    double *y = out_f64(c, 0) + i * width, *sum = out_f64(c, 2);
    for (size_t j = 0; j < width; j++)
        y[j] = rows[0][j] + rows[1][j] + (rows[2] && segments ? rows[2][j] : 0);
    for (size_t j = 0; sum && j < width; j++) sum[i * width + j] = y[j];
    normalise(c, y, width, op_attr_float(c->node, "epsilon", 1e-12));
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "IiFFfFFii", err);
    if (st) return st;
    const size_t length = (size_t)in_shape(c, IDS)[1], width = (size_t)in_shape(c, WORD)[1];
    const size_t count = in_count(c, IDS), given = in_count(c, POSITIONS);
    if (given && given != length && given != count)
        return op_error(c->node, err, PGY_E_SHAPE, "there are %zu positions for %zu words", given,
                        count);
    for (size_t i = 0; !st && i < count && width; i++) st = embed(c, i, length, width, err);
    const int64_t *mask = in_i64(c, MASK);
    for (size_t i = 0; !st && mask && out_i64(c, 1) && i < count; i++)
        out_i64(c, 1)[i / length] += mask[i] != 0;
    return st;
}

const op_def OP_embed_layer_normalization[] = {
    {"EmbedLayerNormalization", "com.microsoft", 1, 0, 7, 9, 1, 3, 0, ATTRS, "int32", infer, eval,
     norm_flops,
     .signature = "T1 = int32; T = float16 float32; input_ids:T1, ?segment_ids:T1, "
                  "word_embedding:T, position_embedding:T, ?segment_embedding:T, gamma:T, "
                  "beta:T, ?mask:T1, ?position_ids:T1 -> output:T, ?mask_index:T1, "
                  "?embedding_sum:T"},
    {NULL},
};

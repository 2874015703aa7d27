/* SPDX-License-Identifier: Apache-2.0 */
/* Expresses Attention and RotaryEmbedding of opset 23 in older operators: products, a bias of mask
 * and causal triangle, Softmax. Heads are the second axis of all inner values. */
#include <math.h>

#include "transform/opset/adapters.h"

enum { Q, K, V, MASK, PAST_K, PAST_V };

static const int64_t SWAP_HEADS[4] = {0, 2, 1, 3}, SWAP_LAST[4] = {0, 1, 3, 2};

typedef struct heads {
    bool flat;     /* inputs have rank 3: [batch, length, heads * size] */
    int64_t q, kv; /* number of query heads; number of key and value heads */
} heads;

static bool read_heads(heads *h, rewrite *r)
{
    const int32_t rank = rw_rank(rw_input(r, Q));
    h->flat = rank == 3;
    if (rank != 3 && rank != 4) rw_refuse(r, "the rank of its inputs is unknown");
    h->q = rw_int(r, "q_num_heads", rank == 4 ? rw_size(rw_input(r, Q), 1) : -1);
    h->kv = rw_int(r, "kv_num_heads", rank == 4 ? rw_size(rw_input(r, K), 1) : -1);
    if (h->q < 1 || h->kv < 1) rw_refuse(r, "its number of heads is unknown");
    return !r->status;
}

static pgy_value *by_heads(rewrite *r, const heads *h, pgy_value *x, int64_t count)
{
    const int64_t shape[4] = {0, 0, count, -1};
    if (!h->flat) return x;
    return rw_transpose(r, rw_emit(r, "Reshape", 2, x, rw_vector(r, shape, 4)), SWAP_HEADS, 4);
}

/* Repeats each head of keys or values x as often as query heads share it. */
static pgy_value *shared(rewrite *r, const heads *h, pgy_value *x)
{
    const int64_t two = 2, times[5] = {1, 1, h->q / h->kv, 1, 1}, front[3] = {0, h->q, -1};
    if (h->q == h->kv) return x;
    if (h->q % h->kv)
        rw_refuse(r, "%lld query heads cannot share %lld key and value heads", (long long)h->q,
                  (long long)h->kv);
    pgy_value *size = rw_dim(r, x, 3);
    pgy_value *many = rw_emit(r, "Expand", 2, rw_unsqueeze(r, x, &two, 1), rw_vector(r, times, 5));
    return rw_emit(r, "Reshape", 2, many, rw_concat(r, rw_vector(r, front, 3), size, 0));
}

/* The square root of the scale, by which both queries and keys are multiplied. */
static pgy_value *root_scale(rewrite *r, pgy_value *q)
{
    if (node_attribute(r->node, "scale"))
        return rw_scalar_like(r, sqrt((double)rw_float(r, "scale", 1)), rw_input(r, Q));
    pgy_value *size = rw_emit(r, "Squeeze", 1, rw_dim(r, q, 3));
    pgy_value *fourth = rw_emit(r, "Sqrt", 1, rw_emit(r, "Sqrt", 1, rw_cast(r, size, PGY_F32)));
    return rw_cast_like(r, rw_emit(r, "Reciprocal", 1, fourth), rw_input(r, Q));
}

static pgy_value *zero_or_closed(rewrite *r, pgy_value *open)
{
    pgy_value *like = rw_input(r, Q);
    pgy_value *v = rw_emit(r, "Where", 3, open, rw_scalar_like(r, 0, like),
                           rw_scalar_like(r, -(double)INFINITY, like));
    if (v) box_of(v)->known.dtype = rw_dtype(like);
    return v;
}

/* Bias for causal attention: query i sees keys up to i + length of the past. */
static pgy_value *causal_bias(rewrite *r, pgy_value *q, pgy_value *k)
{
    pgy_value *rows = rw_positions(r, q, 2, 1);
    if (rw_input(r, PAST_K)) rows = rw_emit(r, "Add", 2, rows, rw_dim(r, rw_input(r, PAST_K), 2));
    pgy_value *open = rw_emit(r, "LessOrEqual", 2, rw_positions(r, k, 2, 0), rows);
    return zero_or_closed(r, open);
}

/* The sum of mask and causal bias; NULL: neither exists. */
static pgy_value *bias_of(rewrite *r, pgy_value *q, pgy_value *k)
{
    pgy_value *mask = rw_input(r, MASK), *bias = NULL;
    if (mask && !rw_dtype(mask)) rw_refuse(r, "the type of its mask is unknown");
    if (mask) bias = rw_dtype(mask) == PGY_BOOL ? zero_or_closed(r, mask) : mask;
    if (!rw_int(r, "is_causal", 0)) return bias;
    pgy_value *causal = causal_bias(r, q, k);
    return bias ? rw_emit(r, "Add", 2, bias, causal) : causal;
}

/* Softmax of the scores; rows in which all keys are masked become 0. */
static pgy_value *probabilities(rewrite *r, pgy_value *scores, bool masked)
{
    const int64_t last = -1;
    const pgy_dtype precision = pgy_dtype_from_onnx((int)rw_int(r, "softmax_precision", 0));
    pgy_value *wide = precision ? rw_cast(r, scores, precision) : scores;
    pgy_value *p = rw_with_int(r, rw_emit(r, "Softmax", 1, wide), "axis", -1);
    if (wide != scores) p = rw_cast_like(r, p, rw_input(r, Q));
    if (!masked) return p;
    pgy_value *closed = rw_scalar_like(r, -(double)INFINITY, rw_input(r, Q));
    pgy_value *open = rw_emit(r, "Greater", 2, rw_reduce(r, "ReduceMax", scores, &last, 1), closed);
    pgy_value *guarded = rw_emit(r, "Where", 3, open, p, rw_scalar_like(r, 0, rw_input(r, Q)));
    if (guarded) box_of(guarded)->known.dtype = rw_dtype(rw_input(r, Q));
    return guarded;
}

static void output_is(rewrite *r, size_t i, pgy_value *v)
{
    if (!rw_wants(r, i)) return;
    pgy_value *old = rw_detach(r, i);
    if (old) rw_emit_into(r, old, "Identity", 1, v);
}

static pgy_value *with_past(rewrite *r, size_t past, pgy_value *now)
{
    return rw_input(r, past) ? rw_concat(r, rw_input(r, past), now, 2) : now;
}

static pgy_value *weights(rewrite *r, pgy_value *q, pgy_value *k)
{
    pgy_value *root = root_scale(r, q), *bias = bias_of(r, q, k), *stages[4];
    const double cap = (double)rw_float(r, "softcap", 0);
    pgy_value *right = rw_transpose(r, rw_emit(r, "Mul", 2, k, root), SWAP_LAST, 4);
    stages[0] = rw_emit(r, "MatMul", 2, rw_emit(r, "Mul", 2, q, root), right);
    stages[1] = stages[0];
    if (cap > 0) {
        pgy_value *limit = rw_scalar_like(r, cap, rw_input(r, Q));
        stages[1] = rw_emit(r, "Mul", 2,
                            rw_emit(r, "Tanh", 1, rw_emit(r, "Div", 2, stages[0], limit)), limit);
    }
    stages[2] = bias ? rw_emit(r, "Add", 2, stages[1], bias) : stages[1];
    stages[3] = probabilities(r, stages[2], bias != NULL);
    const int64_t mode = rw_int(r, "qk_matmul_output_mode", 0);
    output_is(r, 3, stages[mode < 0 || mode > 3 ? 0 : mode]);
    return stages[3];
}

void attention_23_down(rewrite *r)
{
    static const int64_t FLAT[3] = {0, 0, -1};
    heads h;
    if (!read_heads(&h, r)) return;
    pgy_value *q = by_heads(r, &h, rw_input(r, Q), h.q);
    pgy_value *k = with_past(r, PAST_K, by_heads(r, &h, rw_input(r, K), h.kv));
    pgy_value *v = with_past(r, PAST_V, by_heads(r, &h, rw_input(r, V), h.kv));
    output_is(r, 1, k);
    output_is(r, 2, v);
    pgy_value *p = weights(r, q, shared(r, &h, k));
    pgy_value *values = shared(r, &h, v);
    if (rw_dtype(v) && rw_dtype(v) != rw_dtype(rw_input(r, Q)))
        values = rw_cast_like(r, values, rw_input(r, Q));
    rw_cut_outputs(r, 1);
    if (!h.flat) {
        rw_become(r, "MatMul", 2, p, values);
        return;
    }
    pgy_value *joined = rw_transpose(r, rw_emit(r, "MatMul", 2, p, values), SWAP_HEADS, 4);
    rw_become(r, "Reshape", 2, joined, rw_vector(r, FLAT, 3));
}

/* ---- Rotary embedding ----------------------------------------------------------------------- */

/* Gathers the row of the cosine or sine cache for each position, and adds an axis for the heads. */
static pgy_value *cache_rows(rewrite *r, size_t input)
{
    const int64_t two = 2;
    pgy_value *rows = rw_input(r, input), *positions = rw_input(r, 3);
    if (positions) rows = rw_with_int(r, rw_emit(r, "Gather", 2, rows, positions), "axis", 0);
    return rw_unsqueeze(r, rows, &two, 1);
}

static pgy_value *turned(rewrite *r, pgy_value *x, bool interleaved)
{
    const int64_t four = 4;
    pgy_value *cosine = cache_rows(r, 1), *sine = cache_rows(r, 2);
    pgy_value *half = rw_dim(r, rw_input(r, 1), -1), *end = rw_vector1(r, INT64_MAX);
    pgy_value *first =
        rw_slice(r, x, rw_vector1(r, 0), interleaved ? end : half, 3, interleaved ? 2 : 1);
    pgy_value *second =
        rw_slice(r, x, interleaved ? rw_vector1(r, 1) : half, end, 3, interleaved ? 2 : 1);
    pgy_value *real = rw_emit(r, "Sub", 2, rw_emit(r, "Mul", 2, cosine, first),
                              rw_emit(r, "Mul", 2, sine, second));
    pgy_value *imaginary = rw_emit(r, "Add", 2, rw_emit(r, "Mul", 2, sine, first),
                                   rw_emit(r, "Mul", 2, cosine, second));
    if (!interleaved) return rw_concat(r, real, imaginary, 3);
    pgy_value *pairs =
        rw_concat(r, rw_unsqueeze(r, real, &four, 1), rw_unsqueeze(r, imaginary, &four, 1), 4);
    return rw_emit(r, "Reshape", 2, pairs, rw_emit(r, "Shape", 1, x));
}

void rotary_down(rewrite *r)
{
    pgy_value *x = rw_input(r, 0);
    const int32_t rank = rw_rank(x);
    const int64_t shape[4] = {0, 0, rw_int(r, "num_heads", 0), -1};
    const int64_t part = rw_int(r, "rotary_embedding_dim", 0);
    const bool interleaved = rw_int(r, "interleaved", 0) != 0;
    if (rank != 3 && rank != 4) rw_refuse(r, "the rank of its input is unknown");
    pgy_value *by_position = rank == 3 ? rw_emit(r, "Reshape", 2, x, rw_vector(r, shape, 4))
                                       : rw_transpose(r, x, SWAP_HEADS, 4);
    pgy_value *all = by_position;
    if (part) all = rw_slice(r, by_position, rw_vector1(r, 0), rw_vector1(r, part), 3, 1);
    all = turned(r, all, interleaved);
    if (part)
        all = rw_concat(
            r, all, rw_slice(r, by_position, rw_vector1(r, part), rw_vector1(r, INT64_MAX), 3, 1),
            3);
    if (rank == 3) {
        rw_become(r, "Reshape", 2, all, rw_emit(r, "Shape", 1, x));
        return;
    }
    rw_become(r, "Transpose", 1, all);
    rw_set_ints(r, r->node, "perm", SWAP_HEADS, 4);
}

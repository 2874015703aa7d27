/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MRotaryEmbedding: rotary embedding with three positions of each token (time, height
 * and width of a picture). mrope_section says how many angles follow each of them: either one
 * section behind the other, or every third angle (mrope_layout 1). */
#include <inttypes.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"

enum { X, POSITIONS, COS, SIN };
enum { STREAMS = 3 };

static const op_attr_def ATTRS[] = {
    {"interleaved", OP_ATTR_INT, false, "0"},
    {"is_packed_batching", OP_ATTR_INT, false, "0"},
    {"mrope_layout", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {"mrope_section", OP_ATTR_INTS, true, NULL, NULL, "0..2147483647"},
    {"num_heads", OP_ATTR_INT, false, "0", NULL, "0..2147483647"},
    {"rotary_embedding_dim", OP_ATTR_INT, false, "0", NULL, "0..2147483647"},
    {"scale", OP_ATTR_FLOAT, false, "1"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X];
    pgy_status st = rank_check(c, X, 3, 4, err);
    if (!st) st = rank_check(c, POSITIONS, 3, 3, err);
    for (size_t i = COS; !st && i <= SIN; i++) st = rank_check(c, i, 2, 2, err);
    if (!st && rank_known(c, POSITIONS))
        st = dim_check(c, POSITIONS, 0, dim_const(STREAMS), "time, height and width", err);
    if (!st && rank_known(c, COS)) {
        st = dim_check(c, SIN, 0, c->inputs[COS].dims[0], "the positions of the cosines", err);
        if (!st) st = dim_check(c, SIN, 1, c->inputs[COS].dims[1], "the angles", err);
    }
    if (!st && rank_known(c, X)) {
        st = dim_check(c, POSITIONS, 1, x->dims[0], "the batch", err);
        if (!st) st = dim_check(c, POSITIONS, 2, x->dims[x->rank == 3 ? 1 : 2], "the tokens", err);
    }
    op_set_like(c, 0, X);
    return st;
}

typedef struct rotary {
    const op_eval *c;
    int64_t batch, tokens, heads, size, half; /* half: number of angles */
    int64_t head_stride, token_stride;        /* elements from one head and token to the next */
    const int64_t *sections;
    bool every_third, interleaved;
    double scale;
} rotary;

static pgy_status rotary_init(rotary *r, const op_eval *c, pgy_error *err)
{
    const op_node *n = c->node;
    const int64_t *x = in_shape(c, X), turned = op_attr_int(n, "rotary_embedding_dim", 0);
    const bool flat = in_rank(c, X) == 3;
    size_t count;
    *r = (rotary){.c = c,
                  .batch = x[0],
                  .tokens = x[flat ? 1 : 2],
                  .heads = flat ? op_attr_int(n, "num_heads", 0) : x[1],
                  .half = in_shape(c, COS)[1],
                  .sections = op_attr_ints(n, "mrope_section", &count),
                  .every_third = op_attr_int(n, "mrope_layout", 0) == 1,
                  .interleaved = op_attr_int(n, "interleaved", 0) != 0,
                  .scale = op_attr_float(n, "scale", 1)};
    if (flat && (r->heads < 1 || x[2] % r->heads))
        return op_error(n, err, PGY_E_SHAPE,
                        "attribute num_heads is %" PRId64 ", which does not divide the %" PRId64
                        " elements of a token",
                        r->heads, x[2]);
    r->size = flat ? x[2] / r->heads : x[3];
    r->head_stride = flat ? r->size : r->tokens * r->size;
    r->token_stride = flat ? x[2] : r->size;
    if (r->half * 2 != (turned ? turned : r->size) || r->half > r->size / 2)
        return op_error(n, err, PGY_E_SHAPE,
                        "the caches have %" PRId64 " angles, but %" PRId64 " of the %" PRId64
                        " elements of a head are rotated",
                        r->half, turned ? turned : r->size, r->size);
    if (count != STREAMS || r->sections[0] + r->sections[1] + r->sections[2] != r->half)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute mrope_section must have 3 values whose sum is the number of "
                        "angles, %" PRId64,
                        r->half);
    const int64_t *ids = in_i64(c, POSITIONS), most = in_shape(c, COS)[0];
    for (size_t i = 0; i < in_count(c, POSITIONS); i++)
        if (ids[i] < 0 || ids[i] >= most)
            return op_error(n, err, PGY_E_ARGUMENT,
                            "position %" PRId64 " is not in the caches, which have %" PRId64,
                            ids[i], most);
    return PGY_OK;
}

/* The stream that angle i follows. */
static int stream_of(const rotary *r, int64_t i)
{
    if (r->every_third) return i % 3 && i < 3 * r->sections[i % 3] ? (int)(i % 3) : 0;
    if (i < r->sections[0]) return 0;
    return i < r->sections[0] + r->sections[1] ? 1 : 2;
}

static void turn_head(const rotary *r, const int64_t *places, const double *x, double *y)
{
    for (int64_t i = 2 * r->half; i < r->size; i++) y[i] = x[i];
    for (int64_t i = 0; i < r->half; i++) {
        const size_t at = (size_t)(places[stream_of(r, i)] * r->half + i);
        const double cosine = in_f64(r->c, COS)[at], sine = in_f64(r->c, SIN)[at];
        const int64_t a = r->interleaved ? 2 * i : i, b = r->interleaved ? a + 1 : i + r->half;
        y[a] = r->scale * (x[a] * cosine - x[b] * sine);
        y[b] = r->scale * (x[b] * cosine + x[a] * sine);
    }
}

static void run(size_t begin, size_t end, void *user)
{
    const rotary *r = user;
    const int64_t *ids = in_i64(r->c, POSITIONS), each = r->batch * r->tokens;
    for (size_t k = begin; k < end; k++) {
        const int64_t token = (int64_t)k % r->tokens, batch = (int64_t)k / r->tokens;
        const int64_t places[STREAMS] = {ids[k], ids[(int64_t)k + each],
                                         ids[(int64_t)k + 2 * each]};
        for (int64_t h = 0; h < r->heads; h++) {
            const int64_t at = batch * r->tokens * r->heads * r->size + h * r->head_stride +
                               token * r->token_stride;
            turn_head(r, places, in_f64(r->c, X) + at, out_f64(r->c, 0) + at);
        }
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    rotary r;
    pgy_status st = inputs_check(c, "FIFF", err);
    if (st || !out_count(c, 0)) return st;
    st = rotary_init(&r, c, err);
    if (!st) rows_run((size_t)(r.batch * r.tokens), 6 * (size_t)(r.heads * r.size), run, &r);
    return st;
}

#define TYPES "float16 float32 bfloat16"

const op_def OP_m_rotary_embedding[] = {
    {"MRotaryEmbedding", "com.microsoft", 1, 0, 4, 4, 1, 1, OP_FILLS, ATTRS, TYPES, infer, eval,
     NULL,
     .signature = "T = " TYPES "; M = int64; input:T, position_ids:M, cos_cache:T, sin_cache:T "
                  "-> output:T"},
    {NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* RotaryEmbedding: rotates pairs of a head's first elements by the angle of their position. A pair
 * takes one element from each half, or two neighbours if interleaved. The input is [batch, heads,
 * length, size] or [batch, length, heads * size]. Without positions, tables of one batch are for
 * all: torch's exporter writes such, and the operator's algorithm broadcasts them. */
#include <inttypes.h>
#include <string.h>

#include "ops/class_check.h"
#include "ops/class_heads.h"
#include "ops/class_rows.h"

enum { X, COS, SIN, POSITIONS };

static const op_attr_def ATTRS[] = {
    {"interleaved", OP_ATTR_INT, false, "0"},
    {"num_heads", OP_ATTR_INT, false, NULL},
    {"rotary_embedding_dim", OP_ATTR_INT, false, "0"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_status st = rank_check(c, X, 3, 4, err);
    for (size_t i = COS; !st && i <= SIN; i++) {
        int32_t rank = op_has_input(c, POSITIONS) ? 2 : 3;
        st = rank_check(c, i, rank, rank, err);
    }
    if (!st) st = rank_check(c, POSITIONS, 2, 2, err);
    for (int32_t i = 0; !st && rank_known(c, COS) && i < c->inputs[COS].rank; i++)
        st = dim_check(c, SIN, (size_t)i, c->inputs[COS].dims[i],
                       "the same dimension of the cosines", err);
    if (!st && rank_known(c, X) && c->inputs[X].rank == 3 &&
        op_attr_int(c->node, "num_heads", 0) < 1)
        st = op_error(c->node, err, PGY_E_ARGUMENT,
                      "attribute num_heads is %" PRId64
                      ", but an input of rank 3 needs a positive number",
                      op_attr_int(c->node, "num_heads", 0));
    if (st) return st;
    op_set_like(c, 0, X);
    return PGY_OK;
}

typedef struct rotation {
    const op_eval *c;
    size_t batch, heads, length, size, half; /* half: number of rotated pairs */
    size_t rows;                             /* of tables without positions */
    bool flat, interleaved;
} rotation;

static void run(size_t begin, size_t end, void *user)
{
    const rotation *r = user;
    const int64_t *positions = in_i64(r->c, POSITIONS);
    for (size_t i = begin; i < end; i++) { /* rows in memory order */
        size_t b = i / (r->heads * r->length), rest = i % (r->heads * r->length);
        size_t t = r->flat ? rest / r->heads : rest % r->length, row = b * r->length + t;
        size_t at = (positions ? (size_t)positions[row] : row % r->rows) * r->half;
        const double *x = in_f64(r->c, X) + i * r->size, *cosine = in_f64(r->c, COS) + at,
                     *sine = in_f64(r->c, SIN) + at;
        double *y = out_f64(r->c, 0) + i * r->size;
        memcpy(y, x, r->size * sizeof *y);
        heads_turn(y, cosine, sine, r->half, r->interleaved);
    }
}

static pgy_status check_caches(const rotation *r, pgy_error *err)
{
    const op_eval *c = r->c;
    const int64_t *positions = in_i64(c, POSITIONS);
    size_t rows = positions ? r->batch * r->length : r->rows;
    for (size_t i = COS; i <= SIN; i++) {
        const int64_t *s = in_shape(c, i);
        size_t own = axis_view_of(s, in_rank(c, i), 0, in_rank(c, i) - 1).length;
        if ((size_t)s[in_rank(c, i) - 1] != r->half || (!positions && own != rows))
            return op_error(c->node, err, PGY_E_SHAPE,
                            "input %zu has %zu rows of %" PRId64
                            " values, but %zu of %zu are needed",
                            i, own, s[in_rank(c, i) - 1], rows, r->half);
    }
    if (!positions) return PGY_OK;
    if (in_count(c, POSITIONS) != rows)
        return op_error(c->node, err, PGY_E_SHAPE, "there are %zu positions, but %zu are needed",
                        in_count(c, POSITIONS), rows);
    int64_t limit =
        in_shape(c, COS)[0] < in_shape(c, SIN)[0] ? in_shape(c, COS)[0] : in_shape(c, SIN)[0];
    for (size_t i = 0; i < rows; i++)
        if (positions[i] < 0 || positions[i] >= limit)
            return op_error(c->node, err, PGY_E_SHAPE,
                            "position %" PRId64 " is not in [0, %" PRId64 ")", positions[i], limit);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "FFFi", err);
    if (st) return st;
    const int64_t *x = in_shape(c, X);
    rotation r = {.c = c,
                  .batch = (size_t)x[0],
                  .flat = in_rank(c, X) == 3,
                  .interleaved = op_attr_int(c->node, "interleaved", 0) != 0};
    int64_t heads = op_attr_int(c->node, "num_heads", 0),
            turned = op_attr_int(c->node, "rotary_embedding_dim", 0);
    if (r.flat && (heads < 1 || x[2] % heads))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute num_heads is %" PRId64
                        ", which does not divide the width %" PRId64,
                        heads, x[2]);
    r.heads = r.flat ? (size_t)heads : (size_t)x[1];
    r.length = r.flat ? (size_t)x[1] : (size_t)x[2];
    r.size = r.flat ? (size_t)(x[2] / heads) : (size_t)x[3];
    if (turned < 0 || (uint64_t)turned > r.size || (turned ? turned : (int64_t)r.size) % 2)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute rotary_embedding_dim is %" PRId64
                        ", which does not fit heads of %zu elements",
                        turned, r.size);
    r.half = (turned ? (size_t)turned : r.size) / 2;
    r.rows = in_shape(c, COS)[0] == 1 ? r.length : r.batch * r.length;
    st = check_caches(&r, err);
    if (st) return st;
    if (r.size) rows_run(r.batch * r.heads * r.length, r.size * 4, run, &r);
    return PGY_OK;
}

const op_def OP_rotary_embedding[] = {
    {"RotaryEmbedding", "", 23, 0, 3, 4, 1, 1, 0, ATTRS, "float32 float16 bfloat16", infer, eval,
     NULL},
    {NULL},
};

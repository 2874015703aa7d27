/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft ComplexMul and ComplexMulConj: products of complex numbers, which lie as pairs of
 * real and imaginary part in the last axis. ComplexMulConj conjugates the second factor. */
#include "ops/class_check.h"
#include "ops/class_rows.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const dim *dims;
    int32_t rank;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < 2; i++) {
        st = rank_check(c, i, 1, PGY_MAX_RANK, err);
        const op_value *v = &c->inputs[i];
        if (!st && v->rank > 0)
            st = dim_check(c, i, (size_t)v->rank - 1, dim_const(2), "real and imaginary part", err);
    }
    op_set_unknown(c, 0, c->inputs[0].dtype, -1, "the shape of an input is not known");
    if (st || c->inputs[0].rank < 0 || c->inputs[1].rank < 0) return st;
    st = op_broadcast(c, &rank, &dims, c->inputs, 2, err);
    if (!st) op_set_output(c, 0, c->inputs[0].dtype, rank, dims);
    return st;
}

/* Strides in elements of an input that is broadcast to the output's shape. */
static void broadcast_strides(size_t *strides, const op_eval *c, size_t input)
{
    const size_t rank = out_rank(c, 0), own = in_rank(c, input);
    size_t stride = 1;
    for (size_t i = 0; i < rank; i++) {
        const size_t d = rank - 1 - i;
        const size_t size = i < own ? (size_t)in_shape(c, input)[own - 1 - i] : 1;
        strides[d] = size == 1 ? 0 : stride;
        stride *= size;
    }
}

typedef struct product {
    const op_eval *c;
    size_t strides[2][PGY_MAX_RANK];
    double sign; /* of the second factor's imaginary part */
} product;

static size_t offset_of(const product *p, size_t input, size_t pair)
{
    const size_t rank = out_rank(p->c, 0);
    size_t offset = 0;
    for (size_t d = rank - 1; d-- > 0;) {
        const size_t size = (size_t)out_shape(p->c, 0)[d];
        offset += pair % size * p->strides[input][d];
        pair /= size;
    }
    return offset;
}

static void run(size_t begin, size_t end, void *user)
{
    const product *p = user;
    for (size_t i = begin; i < end; i++) {
        const double *a = in_f64(p->c, 0) + offset_of(p, 0, i);
        const double *b = in_f64(p->c, 1) + offset_of(p, 1, i);
        const double imaginary = p->sign * b[1];
        double *y = out_f64(p->c, 0) + 2 * i;
        y[0] = a[0] * b[0] - a[1] * imaginary;
        y[1] = a[0] * imaginary + a[1] * b[0];
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "FF", err);
    if (st) return st;
    product p = {.c = c, .sign = c->node->def->user};
    broadcast_strides(p.strides[0], c, 0);
    broadcast_strides(p.strides[1], c, 1);
    rows_run(out_count(c, 0) / 2, 12, run, &p);
    return PGY_OK;
}

#define SIGNATURE "T = float16 float32 float64; A:T, B:T -> C:T"

const op_def OP_complex_mul[] = {
    {"ComplexMul", "com.microsoft", 1, 0, 2, 2, 1, 1, OP_SAME_TYPES, NULL, TYPES_F3, infer, eval,
     NULL, .user = 1, .signature = SIGNATURE},
    {"ComplexMulConj", "com.microsoft", 1, 0, 2, 2, 1, 1, OP_SAME_TYPES, NULL, TYPES_F3, infer,
     eval, NULL, .user = -1, .signature = SIGNATURE},
    {NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MulInteger: (A - a_zero_point) * (B - b_zero_point) in int32, with broadcasting. */
#include "ops/class_check.h"

enum { A, A_ZERO, B, B_ZERO };

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const dim *dims;
    int32_t rank;
    pgy_status st = PGY_OK;
    for (size_t i = A_ZERO; !st && i <= B_ZERO; i += 2) {
        st = rank_check(c, i, 0, 1, err);
        if (!st && op_has_input(c, i) && c->inputs[i].rank == 1)
            st = dim_check(c, i, 0, dim_const(1), "one zero point", err);
    }
    if (st) return st;
    const op_value factors[] = {c->inputs[A], c->inputs[B]};
    op_set_unknown(c, 0, PGY_I32, -1, "the shape of an input is not known");
    if (factors[0].rank < 0 || factors[1].rank < 0) return PGY_OK;
    st = op_broadcast(c, &rank, &dims, factors, 2, err);
    if (!st) op_set_output(c, 0, PGY_I32, rank, dims);
    return st;
}

/* Place in an input of element i of the output, which the input is broadcast to. */
static size_t place_of(const op_eval *c, size_t input, size_t i)
{
    const size_t rank = out_rank(c, 0), own = in_rank(c, input);
    size_t place = 0, stride = 1;
    for (size_t k = 0; k < rank && k < own; k++) {
        const size_t size = (size_t)in_shape(c, input)[own - 1 - k];
        const size_t at = i % (size_t)out_shape(c, 0)[rank - 1 - k];
        i /= (size_t)out_shape(c, 0)[rank - 1 - k];
        if (size > 1) place += at * stride;
        stride *= size;
    }
    return place;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "IiIi", err);
    if (st) return st;
    const int64_t a_zero = in_i64(c, A_ZERO) ? *in_i64(c, A_ZERO) : 0;
    const int64_t b_zero = in_i64(c, B_ZERO) ? *in_i64(c, B_ZERO) : 0;
    for (size_t i = 0; i < out_count(c, 0); i++) {
        const int64_t a = in_i64(c, A)[place_of(c, A, i)], b = in_i64(c, B)[place_of(c, B, i)];
        out_i64(c, 0)[i] = (a - a_zero) * (b - b_zero);
    }
    return PGY_OK;
}

const op_def OP_mul_integer[] = {
    {"MulInteger", "com.microsoft", 1, 0, 3, 4, 1, 1, 0, NULL, "int8 uint8", infer, eval, NULL,
     .signature = "T = int8 uint8; A:T, ?A_zero_point:T, B:T, ?B_zero_point:T -> C:int32"},
    {NULL},
};

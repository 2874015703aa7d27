/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft GatedAdd: X + Y * gate, with one gate for each row. */
#include "ops/class_check.h"
#include "ops/class_rows.h"

enum { X, Y, GATE };

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X];
    op_set_like(c, 0, X);
    if (x->rank < 0) return PGY_OK;
    pgy_status st = rank_check(c, X, 1, PGY_MAX_RANK, err);
    if (!st) st = rank_check(c, Y, x->rank, x->rank, err);
    if (!st) st = rank_check(c, GATE, x->rank, x->rank, err);
    for (int32_t d = 0; !st && d < x->rank; d++) {
        const bool last = d == x->rank - 1;
        st = dim_check(c, Y, (size_t)d, x->dims[d], "the same dimension of X", err);
        if (!st)
            st = dim_check(c, GATE, (size_t)d, last ? dim_const(1) : x->dims[d],
                           last ? "one gate for a row" : "the same dimension of X", err);
    }
    return st;
}

typedef struct sum {
    const op_eval *c;
    size_t width;
} sum;

static void run(size_t begin, size_t end, void *user)
{
    const sum *s = user;
    const double *x = in_f64(s->c, X), *y = in_f64(s->c, Y), *gate = in_f64(s->c, GATE);
    for (size_t i = begin; i < end; i++) out_f64(s->c, 0)[i] = x[i] + y[i] * gate[i / s->width];
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "FFF", err);
    if (st || !out_count(c, 0)) return st;
    sum s = {c, (size_t)in_shape(c, X)[in_rank(c, X) - 1]};
    rows_run(out_count(c, 0), 4, run, &s);
    return PGY_OK;
}

const op_def OP_gated_add[] = {
    {"GatedAdd", "com.microsoft", 1, 0, 3, 3, 1, 1, OP_SAME_TYPES, NULL, "float16 float32 bfloat16",
     infer, eval, NULL, .signature = "T = float16 float32 bfloat16; X:T, Y:T, gate:T -> output:T"},
    {NULL},
};

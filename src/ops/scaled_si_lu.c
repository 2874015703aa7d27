/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft ScaledSiLU: z * sigmoid(z) of z = scale * x, where the scale is an input or else
 * attribute alpha. */
#include <math.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"

static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "1"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    op_set_like(c, 0, 0);
    pgy_status st = rank_check(c, 1, 0, 1, err);
    if (!st && op_has_input(c, 1) && c->inputs[1].rank == 1)
        st = dim_check(c, 1, 0, dim_const(1), "one scale", err);
    return st;
}

typedef struct scaled {
    const double *x;
    double *y, scale;
} scaled;

static void run(size_t begin, size_t end, void *user)
{
    const scaled *s = user;
    for (size_t i = begin; i < end; i++) {
        const double z = s->scale * s->x[i];
        s->y[i] = z / (1 + exp(-z));
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "Ff", err);
    if (st) return st;
    scaled s = {in_f64(c, 0), out_f64(c, 0),
                op_eval_scalar(c, 1, op_attr_float(c->node, "alpha", 1))};
    rows_run(in_count(c, 0), 24, run, &s);
    return PGY_OK;
}

#define TYPES "float16 float32 bfloat16"

const op_def OP_scaled_si_lu[] = {
    {"ScaledSiLU", "com.microsoft", 1, 0, 1, 2, 1, 1, 0, ATTRS, TYPES, infer, eval, NULL,
     .signature = "T = " TYPES "; M = " TYPES "; X:T, ?scale:M -> Y:T"},
    {NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* SwiGLU: a * sigmoid(alpha * a) * b for two inputs of one shape. */
#include <math.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"

static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "1"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *a = &c->inputs[0], *b = &c->inputs[1];
    op_set_like(c, 0, a->rank >= 0 ? 0 : 1);
    c->outputs[0].dtype = a->dtype;
    if (a->rank < 0 || b->rank < 0) return PGY_OK;
    pgy_status st = rank_check(c, 1, a->rank, a->rank, err);
    for (int32_t d = 0; !st && d < a->rank; d++)
        st = dim_check(c, 1, (size_t)d, a->dims[d], "the same dimension of input 0", err);
    if (st) return st;
    dim *dims = rule_copy_dims(c, a);
    if (!dims) return rule_no_memory(c->node, err);
    for (int32_t d = 0; d < a->rank; d++) dims[d] = dim_joined(c, 1, (size_t)d, dims[d]);
    op_set_output(c, 0, a->dtype, a->rank, dims);
    return PGY_OK;
}

typedef struct gate {
    const double *a, *b;
    double *y, alpha;
} gate;

static void run(size_t begin, size_t end, void *user)
{
    const gate *g = user;
    for (size_t i = begin; i < end; i++)
        g->y[i] = g->a[i] / (1 + exp(-g->alpha * g->a[i])) * g->b[i];
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "FF", err);
    if (!st && in_count(c, 0) != in_count(c, 1))
        st = op_error(c->node, err, PGY_E_SHAPE,
                      "the inputs have %zu and %zu elements, which must be equal", in_count(c, 0),
                      in_count(c, 1));
    if (st) return st;
    gate g = {in_f64(c, 0), in_f64(c, 1), out_f64(c, 0), op_attr_float(c->node, "alpha", 1)};
    rows_run(in_count(c, 0), 20, run, &g);
    return PGY_OK;
}

const op_def OP_swi_glu[] = {
    {"SwiGLU", "", 28, 0, 2, 2, 1, 1, OP_SAME_TYPES, ATTRS, TYPES_F4, infer, eval, NULL},
    {NULL},
};

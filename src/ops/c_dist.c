/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft CDist: the distance of each row of A to each row of B. */
#include <math.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"

static const op_attr_def ATTRS[] = {
    {"metric", OP_ATTR_STRING, false, "sqeuclidean", .choices = "euclidean sqeuclidean"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *a = &c->inputs[0], *b = &c->inputs[1];
    pgy_status st = rank_check(c, 0, 2, 2, err);
    if (!st) st = rank_check(c, 1, 2, 2, err);
    if (!st && a->rank == 2) st = dim_check(c, 1, 1, a->dims[1], "the width of input 0", err);
    if (st) return st;
    dim *dims = op_dims(c, 2);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t i = 0; i < 2; i++)
        dims[i] = c->inputs[i].rank == 2
                      ? c->inputs[i].dims[0]
                      : dim_unknown(c->dims, "the shape of an input is not known");
    op_set_output(c, 0, a->dtype != PGY_DTYPE_NONE ? a->dtype : b->dtype, 2, dims);
    return PGY_OK;
}

typedef struct distances {
    const op_eval *c;
    size_t width;
    bool root;
} distances;

static void run(size_t begin, size_t end, void *user)
{
    const distances *d = user;
    const size_t others = (size_t)in_shape(d->c, 1)[0];
    for (size_t i = begin; i < end; i++) {
        const double *a = in_f64(d->c, 0) + i / others * d->width;
        const double *b = in_f64(d->c, 1) + i % others * d->width;
        double sum = 0;
        for (size_t k = 0; k < d->width; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
        out_f64(d->c, 0)[i] = d->root ? sqrt(sum) : sum;
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "FF", err);
    if (st) return st;
    distances d = {c, (size_t)in_shape(c, 0)[1],
                   op_attr_is(c->node, "metric", "euclidean", "sqeuclidean")};
    rows_run(out_count(c, 0), 3 * d.width + 4, run, &d);
    return PGY_OK;
}

static double flops(const op_infer *c)
{
    return 3 * dims_product(&c->outputs[0]) * (double)c->inputs[0].dims[1].value;
}

const op_def OP_c_dist[] = {
    {"CDist", "com.microsoft", 1, 0, 2, 2, 1, 1, OP_SAME_TYPES, ATTRS, "float32 float64", infer,
     eval, flops, .signature = "T = float32 float64; A:T, B:T -> C:T"},
    {NULL},
};

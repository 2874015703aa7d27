/* SPDX-License-Identifier: Apache-2.0 */
/* y = f(x + bias), element by element. */
#include "ops/class_bias_gelu.h"

#include "ops/class_rows.h"

pgy_status bias_gelu_infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    op_set_like(c, 0, 0);
    pgy_status st = rank_check(c, 1, 1, 1, err);
    if (!st && op_has_input(c, 1)) st = rank_check(c, 0, 1, PGY_MAX_RANK, err);
    if (!st && x->rank > 0) st = dim_check(c, 1, 0, x->dims[x->rank - 1], "the last axis", err);
    return st;
}

typedef struct job {
    const double *x, *bias;
    double *y;
    size_t width;
    activation a;
} job;

static void run(size_t begin, size_t end, void *user)
{
    const job *j = user;
    for (size_t i = begin; i < end; i++)
        j->y[i] = j->a.run(j->x[i] + (j->bias ? j->bias[i % j->width] : 0), j->a.params);
}

pgy_status bias_gelu_run(op_eval *c, activation a, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "Ff", err);
    if (st) return st;
    job j = {in_f64(c, 0), in_f64(c, 1), out_f64(c, 0), in_f64(c, 1) ? in_count(c, 1) : 1, a};
    rows_run(in_count(c, 0), 24, run, &j);
    return PGY_OK;
}

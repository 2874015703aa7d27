/* SPDX-License-Identifier: Apache-2.0 */
/* Adagrad: a step against the gradient, divided by the root of all squared gradients so far. */
#include <math.h>

#include "ops/class_optimizer.h"

enum { KEPT = 1 };

static const op_attr_def ATTRS[] = {
    {"norm_coefficient", OP_ATTR_FLOAT, false, "0"},
    {"decay_factor", OP_ATTR_FLOAT, false, "0"},
    {"epsilon", OP_ATTR_FLOAT, false, "1e-6"},
    {NULL},
};

typedef struct settings {
    double norm, epsilon;
} settings;

static pgy_status infer(op_infer *c, pgy_error *err)
{
    return optimizer_infer(c, KEPT, err);
}

static void step(double *x, double gradient, double *kept, double rate, const void *user)
{
    const settings *s = user;
    const double g = s->norm * *x + gradient;
    kept[0] += g * g;
    *x -= rate * g / (sqrt(kept[0]) + s->epsilon);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    double rate;
    int64_t count;
    const settings s = {op_attr_float(c->node, "norm_coefficient", 0),
                        op_attr_float(c->node, "epsilon", 0)};
    const pgy_status st = optimizer_start(c, &rate, &count, err);
    if (st) return st;
    rate /= 1 + (double)count * op_attr_float(c->node, "decay_factor", 0);
    return optimizer_run(c, KEPT, rate, step, &s, err);
}

const op_def OP_adagrad[] = {OPTIMIZER_ROW("Adagrad", ATTRS, infer, eval), {NULL}};

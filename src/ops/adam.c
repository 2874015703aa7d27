/* SPDX-License-Identifier: Apache-2.0 */
/* Adam: a step along the running average of the gradients, divided by the root of the running
 * average of their squares. Both averages start at zero; the learning rate corrects this bias. */
#include <math.h>

#include "ops/class_optimizer.h"

enum { KEPT = 2 };

static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "0.9"},
    {"beta", OP_ATTR_FLOAT, false, "0.999"},
    {"epsilon", OP_ATTR_FLOAT, false, "1e-6"},
    {"norm_coefficient", OP_ATTR_FLOAT, false, "0"},
    {"norm_coefficient_post", OP_ATTR_FLOAT, false, "0"},
    {NULL},
};

typedef struct settings {
    double alpha, beta, norm, norm_post, epsilon;
} settings;

static pgy_status infer(op_infer *c, pgy_error *err)
{
    return optimizer_infer(c, KEPT, err);
}

static void step(double *x, double gradient, double *kept, double rate, const void *user)
{
    const settings *s = user;
    const double g = s->norm * *x + gradient;
    kept[0] = s->alpha * kept[0] + (1 - s->alpha) * g;
    kept[1] = s->beta * kept[1] + (1 - s->beta) * g * g;
    *x = (1 - s->norm_post) * (*x - rate * kept[0] / (sqrt(kept[1]) + s->epsilon));
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    double rate;
    int64_t count;
    const settings s = {op_attr_float(c->node, "alpha", 0), op_attr_float(c->node, "beta", 0),
                        op_attr_float(c->node, "norm_coefficient", 0),
                        op_attr_float(c->node, "norm_coefficient_post", 0),
                        op_attr_float(c->node, "epsilon", 0)};
    const pgy_status st = optimizer_start(c, &rate, &count, err);
    if (st) return st;
    if (count > 0) rate *= sqrt(1 - pow(s.beta, (double)count)) / (1 - pow(s.alpha, (double)count));
    return optimizer_run(c, KEPT, rate, step, &s, err);
}

const op_def OP_adam[] = {OPTIMIZER_ROW("Adam", ATTRS, infer, eval), {NULL}};

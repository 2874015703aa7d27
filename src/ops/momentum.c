/* SPDX-License-Identifier: Apache-2.0 */
/* Momentum: a step along the decaying sum of the gradients, or Nesterov's variant, one gradient
 * ahead. */
#include "ops/class_optimizer.h"

enum { KEPT = 1 };

static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, true, NULL},
    {"beta", OP_ATTR_FLOAT, true, NULL},
    {"mode", OP_ATTR_STRING, true, NULL},
    {"norm_coefficient", OP_ATTR_FLOAT, true, NULL},
    {NULL},
};

typedef struct settings {
    double alpha, beta, norm;
    bool nesterov;
} settings;

static pgy_status infer(op_infer *c, pgy_error *err)
{
    if (!op_attr_is(c->node, "mode", "nesterov", NULL) &&
        !op_attr_is(c->node, "mode", "standard", NULL))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute mode must be 'standard' or 'nesterov'");
    return optimizer_infer(c, KEPT, err);
}

static void step(double *x, double gradient, double *kept, double rate, const void *user)
{
    const settings *s = user;
    const double g = s->norm * *x + gradient;
    kept[0] = s->alpha * kept[0] + s->beta * g;
    *x -= rate * (s->nesterov ? g + s->alpha * kept[0] : kept[0]);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    double rate;
    int64_t count;
    settings s = {op_attr_float(c->node, "alpha", 0), op_attr_float(c->node, "beta", 0),
                  op_attr_float(c->node, "norm_coefficient", 0),
                  op_attr_is(c->node, "mode", "nesterov", NULL)};
    const pgy_status st = optimizer_start(c, &rate, &count, err);
    if (st) return st;
    if (count <= 0) s.beta = 1;
    return optimizer_run(c, KEPT, rate, step, &s, err);
}

const op_def OP_momentum[] = {OPTIMIZER_ROW("Momentum", ATTRS, infer, eval), {NULL}};

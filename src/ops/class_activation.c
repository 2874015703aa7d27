/* SPDX-License-Identifier: Apache-2.0 */
/* Activations of fused operators, by name. */
#include "ops/class_activation.h"

#include <math.h>
#include <string.h>

#include "ops/class_rows.h"

double activation_gelu(double x)
{
    return 0.5 * x * erfc(-x * 0.70710678118654752440);
}

double activation_gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

static double relu(double x, const double *params)
{
    (void)params;
    return x < 0 ? 0 : x;
}

static double leaky_relu(double x, const double *params)
{
    return x < 0 ? params[0] * x : x;
}

static double hyperbolic(double x, const double *params)
{
    (void)params;
    return tanh(x);
}

static double sigmoid(double x, const double *params)
{
    (void)params;
    return 1 / (1 + exp(-x));
}

static double hard_sigmoid(double x, const double *params)
{
    const double y = params[0] * x + params[1];
    return y < 0 ? 0 : y > 1 ? 1 : y; /* NaN stays */
}

static double clip(double x, const double *params)
{
    const double y = x < params[0] ? params[0] : x;
    return y > params[1] ? params[1] : y; /* NaN stays */
}

static double gelu(double x, const double *params)
{
    (void)params;
    return activation_gelu(x);
}

static double hard_swish(double x, const double *params)
{
    const double unit = x / 6 + 0.5;
    (void)params;
    return x * (unit < 0 ? 0 : unit > 1 ? 1 : unit);
}

static double elu(double x, const double *params)
{
    return x < 0 ? params[0] * expm1(x) : x;
}

static double celu(double x, const double *params)
{
    return x < 0 ? params[0] * expm1(x / params[0]) : x;
}

static double selu(double x, const double *params)
{
    return params[1] * elu(x, params);
}

static double softplus(double x, const double *params)
{
    (void)params;
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double parametric_softplus(double x, const double *params)
{
    return params[0] * softplus(params[1] * x, params);
}

static double softsign(double x, const double *params)
{
    (void)params;
    return x / (1 + fabs(x));
}

static double thresholded_relu(double x, const double *params)
{
    return x <= params[0] ? 0 : x; /* NaN stays */
}

static double scaled_tanh(double x, const double *params)
{
    return params[0] * tanh(params[1] * x);
}

static const struct {
    const char *name;
    activation_function run;
    double params[2];   /* default values of the parameters */
    const char *second; /* attribute of the second one; NULL: activation_beta */
} NAMED[] = {
    {"Relu", relu, {0}},
    {"LeakyRelu", leaky_relu, {0.01, 0}},
    {"Tanh", hyperbolic, {0}},
    {"Sigmoid", sigmoid, {0}},
    {"HardSigmoid", hard_sigmoid, {0.2, 0.5}},
    {"Clip", clip, {-INFINITY, INFINITY}},
    {"Gelu", gelu, {0}},
    {"HardSwish", hard_swish, {0}},
    {"Elu", elu, {1}},
    {"Celu", celu, {1}},
    {"Selu", selu, {1.67326319217681884766, 1.05070102214813232422}, "activation_gamma"},
    {"Softplus", softplus, {0}},
    {"ParametricSoftplus", parametric_softplus, {1, 1}},
    {"Softsign", softsign, {0}},
    {"ThresholdedRelu", thresholded_relu, {1}},
    {"ScaledTanh", scaled_tanh, {1, 1}},
};

pgy_status activation_read(activation *a, const op_node *n, pgy_error *err)
{
    const op_attr *name = op_attr_find(n, "activation");
    size_t count;
    const float *given = op_attr_floats(n, "activation_params", &count);
    *a = (activation){0};
    if (!name || name->kind != OP_ATTR_STRING || !name->s.size) return PGY_OK;
    for (size_t i = 0; i < sizeof NAMED / sizeof *NAMED; i++) {
        if (!op_attr_is(n, "activation", NAMED[i].name, NULL)) continue;
        a->run = NAMED[i].run;
        memcpy(a->params, NAMED[i].params, sizeof a->params);
        for (size_t k = 0; k < count && k < 2; k++) a->params[k] = given[k];
        a->params[0] = op_attr_float(n, "activation_alpha", a->params[0]);
        a->params[1] =
            op_attr_float(n, NAMED[i].second ? NAMED[i].second : "activation_beta", a->params[1]);
        return PGY_OK;
    }
    return op_error(n, err, PGY_E_UNSUPPORTED, "activation '%.*s' is unknown", (int)name->s.size,
                    name->s.data);
}

static double silu(double x, const double *params)
{
    (void)params;
    return x / (1 + exp(-x));
}

static double fast_gelu(double x, const double *params)
{
    (void)params;
    return activation_gelu_tanh(x);
}

pgy_status activation_read_pgy(activation *a, const op_node *n, pgy_error *err)
{
    static const struct {
        const char *name;
        activation_function run;
    } OWN[] = {{"Silu", silu}, {"FastGelu", fast_gelu}};
    *a = (activation){0};
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++)
        if (op_attr_is(n, "activation", OWN[i].name, "")) a->run = OWN[i].run;
    return a->run ? PGY_OK : activation_read(a, n, err);
}

typedef struct job {
    const activation *a;
    double *y;
} job;

static void run(size_t begin, size_t end, void *user)
{
    const job *j = user;
    for (size_t i = begin; i < end; i++) j->y[i] = j->a->run(j->y[i], j->a->params);
}

void activation_apply(const activation *a, double *y, size_t count)
{
    job j = {a, y};
    if (a->run) rows_run(count, 16, run, &j);
}

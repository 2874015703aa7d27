/* SPDX-License-Identifier: Apache-2.0 */
/* Activation functions of fused operators. The operator names its activation in an attribute. */
#ifndef OPS_CLASS_ACTIVATION_H
#define OPS_CLASS_ACTIVATION_H

#include "ops/class_check.h"

typedef double (*activation_function)(double x, const double *params);
typedef struct activation {
    activation_function run; /* NULL: no activation */
    double params[2];
} activation;

/* Reads attribute `activation` (or `activation_name`) and the parameters in `activation_params` or
 * activation_alpha and activation_beta. PGY_E_UNSUPPORTED: unknown name. */
pgy_status activation_read(activation *a, const op_node *n, pgy_error *err) PGY_MUST_CHECK;
/* activation_read for operators of domain pgy, which also know Silu and FastGelu. */
pgy_status activation_read_pgy(activation *a, const op_node *n, pgy_error *err) PGY_MUST_CHECK;
void activation_apply(const activation *a, double *y, size_t count);

double activation_gelu(double x);      /* computes Gelu by the error function */
double activation_gelu_tanh(double x); /* computes Gelu by the hyperbolic tangent */

#endif

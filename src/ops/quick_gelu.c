/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QuickGelu: x * sigmoid(alpha * x). */
#include <math.h>

#include "ops/class_bias_gelu.h"

static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "1.702"},
    {NULL},
};

static double function(double x, const double *params)
{
    return x / (1 + exp(-params[0] * x));
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const activation a = {.run = function, .params = {op_attr_float(c->node, "alpha", 1.702)}};
    return bias_gelu_run(c, a, err);
}

const op_def OP_quick_gelu[] = {
    {"QuickGelu", "com.microsoft", 1, 0, 1, 1, 1, 1, OP_SAME_TYPES, ATTRS, TYPES_F4,
     bias_gelu_infer, eval, NULL, .signature = "T = float16 float32 float64 bfloat16; X:T -> Y:T"},
    {NULL},
};

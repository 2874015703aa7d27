/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft FastGelu: the tanh approximation of the Gelu of x + bias. */
#include <math.h>

#include "ops/class_bias_gelu.h"

static double function(double x, const double *params)
{
    (void)params;
    return activation_gelu_tanh(x);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const activation a = {.run = function};
    return bias_gelu_run(c, a, err);
}

const op_def OP_fast_gelu[] = {
    {"FastGelu", "com.microsoft", 1, 0, 1, 2, 1, 1, OP_SAME_TYPES, NULL, TYPES_F4, bias_gelu_infer,
     eval, NULL, .signature = "T = float16 float32 float64 bfloat16; X:T, ?bias:T -> Y:T"},
    {NULL},
};

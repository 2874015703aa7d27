/* SPDX-License-Identifier: Apache-2.0 */
/* Gelu: x times the normal distribution function, exact or in the tanh approximation. The exact
 * form uses the complementary error function, which keeps all digits for x far below zero. */
#include <math.h>

#include "ops/class_unary.h"

static inline double gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

#define NAME exact_f64
#define F(x) (0.5 * (x)*erfc(-(x)*0.70710678118654752440))
#include "ops/unary_loop.inc"

#define NAME tanh_f64
#define F(x) gelu_tanh(x)
#include "ops/unary_loop.inc"

static const unary_spec SPEC = {.f64 = exact_f64};
static const op_attr_def ATTRS[] = {
    {"approximate", OP_ATTR_STRING, false, "none", "none tanh"},
    {0},
};

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x;
    pgy_status st = rule_input(c, 0, &x, err);
    if (st) return st;
    const bool exact = op_attr_is(c->node, "approximate", "none", NULL);
    if (!exact && !op_attr_is(c->node, "approximate", "tanh", NULL))
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute approximate must be 'none' or 'tanh'");
    if (pgy_tensor_dtype(x) != PGY_F64)
        return op_error(c->node, err, PGY_E_TYPE, "input 0 must be a float tensor");
    return unary_run(c, exact ? exact_f64 : tanh_f64, NULL, err);
}

const op_def OP_gelu[] = {
    {.name = "Gelu",
     .domain = "",
     .since = 20,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .attrs = ATTRS,
     .types = TYPES_F4,
     .infer = unary_infer,
     .eval = eval,
     .user_data = &SPEC},
    {.name = "Gelu",
     .domain = "com.microsoft",
     .since = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .types = TYPES_F4,
     .infer = unary_infer,
     .eval = unary_eval,
     .user_data = &SPEC,
     .signature = "T = float16 float32 float64 bfloat16; X:T -> Y:T"},
    {0},
};

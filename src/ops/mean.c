/* SPDX-License-Identifier: Apache-2.0 */
/* Mean: of any number of inputs, element by element. */
#include "ops/class_binary.h"

#define NAME add_f64
#define F(a, b) ((a) + (b))
#include "ops/binary_loop.inc"

static const binary_spec SPEC = {.f64 = add_f64};

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = variadic_eval(c, err);
    if (st) return st;
    double *y = pgy_tensor_data(c->outputs[0].value);
    const size_t count = pgy_tensor_count(c->outputs[0].value);
    const double inputs = (double)c->node->input_count;
    if (inputs == 1) return PGY_OK;
    for (size_t i = 0; i < count; i++) y[i] /= inputs;
    return PGY_OK;
}

#define ROW(version, accepted)                                                              \
    {                                                                                       \
        .name = "Mean", .domain = "", .since = version, .min_inputs = 1, .max_inputs = 255, \
        .min_outputs = 1, .max_outputs = 1, .flags = OP_VARIADIC_INPUTS, .types = accepted, \
        .infer = variadic_infer, .eval = eval, .user_data = &SPEC                           \
    }

const op_def OP_mean[] = {
    ROW(6, TYPES_F3),
    ROW(13, TYPES_F4),
    {0},
};

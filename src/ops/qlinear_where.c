/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft QLinearWhere: Where of two quantised tensors with their own scales; the result is
 * requantised. */
#include "ops/class_qlinear.h"

enum { CONDITION, X, Y = 4, Z_SCALE = 7, Z_ZERO };

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value values[3] = {c->inputs[CONDITION], c->inputs[X], c->inputs[Y]};
    int32_t rank;
    const dim *dims;
    const pgy_status st = op_broadcast(c, &rank, &dims, values, 3, err);
    if (st) return st;
    op_set_output(c, 0, c->inputs[op_has_input(c, Z_ZERO) ? Z_ZERO : X].dtype, rank, dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    static const bool wanted[1] = {true};
    const op_node node = {.def = op_find("", "Where", 16),
                          .name = c->node->name,
                          .opset = 16,
                          .input_count = 3,
                          .output_count = 1};
    op_tensor in[3] = {{0}}, made = {0};
    op_host host = c->host ? *c->host : (op_host){0};
    host.model_precision = false;
    pgy_status st = inputs_check(c, "B!!!!", err);
    if (st) return st;
    in[0] = op_tensor_retain(&c->inputs[CONDITION]);
    st = qlinear_dequantise(&in[1], c, X, err);
    if (!st) st = qlinear_dequantise(&in[2], c, Y, err);
    if (!st) st = op_run(&node, in, &made, wanted, &host, err);
    if (!st) st = qlinear_quantise(c, made.value, Z_SCALE, err);
    for (size_t i = 0; i < 3; i++) op_tensor_release(&in[i]);
    op_tensor_release(&made);
    return st;
}

const op_def OP_qlinear_where[] = {
    {.name = "QLinearWhere",
     .domain = "com.microsoft",
     .since = 1,
     .min_inputs = 8,
     .max_inputs = 9,
     .min_outputs = 1,
     .max_outputs = 1,
     .types = "bool",
     .infer = infer,
     .eval = eval,
     .signature = "T = int8 uint8; condition:bool, X:T, x_scale:float32, x_zero_point:T, Y:T, "
                  "y_scale:float32, y_zero_point:T, z_scale:float32, ?z_zero_point:T -> Z:T"},
    {0},
};

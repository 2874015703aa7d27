/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft BiasSoftmax: Softmax of data + bias, over the axes from `axis` on as one. The bias
 * broadcasts as in Add, along any axes. */
#include "ops/class_check.h"

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, false, "1"},
    {"is_inner_broadcast", OP_ATTR_INT, true, NULL},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    size_t axis;
    op_set_like(c, 0, 0);
    if (c->inputs[0].rank < 0) return PGY_OK;
    return op_axis(&axis, c->node, op_attr_int(c->node, "axis", 1), c->inputs[0].rank, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    static const bool wanted[1] = {true};
    const op_attr axis = {
        .name = "axis", .kind = OP_ATTR_INT, .i = op_attr_int(c->node, "axis", 1)};
    const op_node add = {.def = op_find("", "Add", 14),
                         .name = c->node->name,
                         .opset = 14,
                         .input_count = 2,
                         .output_count = 1};
    const op_node softmax = {.def = op_find("", "Softmax", 11),
                             .name = c->node->name,
                             .opset = 11,
                             .attrs = &axis,
                             .attr_count = 1,
                             .input_count = 1,
                             .output_count = 1};
    op_host host = c->host ? *c->host : (op_host){0};
    op_tensor sum = {0}, made = {0};
    host.model_precision = false;
    pgy_status st = inputs_check(c, "FF", err);
    if (!st) st = op_run(&add, c->inputs, &sum, wanted, &host, err);
    if (!st && pgy_tensor_count(sum.value) != in_count(c, 0))
        st = op_error(c->node, err, PGY_E_SHAPE,
                      "the bias does not broadcast to the shape of the data");
    if (!st) st = op_run(&softmax, &sum, &made, wanted, &host, err);
    op_tensor_release(&sum);
    if (st) return st;
    op_tensor_release(&c->outputs[0]);
    c->outputs[0] = made;
    return PGY_OK;
}

const op_def OP_bias_softmax[] = {
    {"BiasSoftmax", "com.microsoft", 1, 0, 2, 2, 1, 1, OP_SAME_TYPES, ATTRS, TYPES_F4, infer, eval,
     NULL, .signature = "T = float16 float32 float64 bfloat16; data:T, bias:T -> output:T"},
    {NULL},
};

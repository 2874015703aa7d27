/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft Range: the standard operator with a default step of 1. */
#include "ops/class_alias.h"

static const alias_spec SPEC = {"", "Range", 11, 0};

/* Makes a step of 1 for an omitted input 2; the caller releases it. */
static pgy_status make_step(op_tensor *step, pgy_dtype dtype, pgy_error *err)
{
    const pgy_status st = pgy_tensor_create(&step->value, op_storage(dtype), 0, NULL, err);
    if (st) return st;
    step->dtype = dtype;
    if (op_storage(dtype) == PGY_F64)
        op_f64(step->value)[0] = 1;
    else
        op_i64(step->value)[0] = 1;
    return PGY_OK;
}

static bool has_step(const op_node *n, bool present)
{
    return n->input_count > 2 && present;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    if (has_step(c->node, op_has_input(c, 2))) return alias_infer(c, err);
    const op_value first = c->inputs[0], last = c->inputs[1];
    op_tensor step = {0};
    if (!first.dtype) {
        op_set_unknown(c, 0, first.dtype, 1, "the type is not known");
        return PGY_OK;
    }
    pgy_status st = make_step(&step, first.dtype, err);
    if (st) return st;
    const dim one = dim_const(1);
    const op_value values[3] = {
        first,
        last,
        {.dtype = first.dtype, .data = step.value, .elements = &one, .element_count = 1}};
    const bool present[3] = {true, true, true};
    op_node node = *c->node;
    node.signature = NULL;
    op_infer inner = *c;
    node.input_count = 3;
    inner.node = &node;
    inner.inputs = values;
    inner.present = present;
    st = alias_infer(&inner, err);
    c->why = inner.why;
    op_tensor_release(&step);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    if (has_step(c->node, op_has_value(c, 2))) return alias_eval(c, err);
    op_tensor in[3] = {c->inputs[0], c->inputs[1], {0}};
    pgy_status st = make_step(&in[2], in[0].dtype, err);
    if (st) return st;
    op_node node = *c->node;
    node.signature = NULL;
    op_eval inner = *c;
    node.input_count = 3;
    inner.node = &node;
    inner.inputs = in;
    st = alias_eval(&inner, err);
    op_tensor_release(&in[2]);
    return st;
}

const op_def OP_contrib_range[] = {
    {.name = "Range",
     .domain = "com.microsoft",
     .since = 1,
     .min_inputs = 2,
     .max_inputs = 3,
     .min_outputs = 1,
     .max_outputs = 1,
     .flags = OP_SAME_TYPES,
     .types = "float32 float64 int16 int32 int64",
     .infer = infer,
     .eval = eval,
     .user_data = &SPEC,
     .signature = "T = float32 float64 int16 int32 int64; start:T, limit:T, ?delta:T -> Y:T"},
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft Unique of a vector: values in the order of first occurrence, the index of each
 * element among them, and their counts. The standard operator finds them. */
#include "ops/rule.h"

enum { Y, INVERSE = 2, COUNTS, OUTPUTS };

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    if (x->rank > 1)
        return op_error(c->node, err, PGY_E_SHAPE, "input 0 must have rank 1, but has rank %d",
                        x->rank);
    op_set_unknown(c, 0, x->dtype, 1, "it depends on how many values differ");
    if (c->node->output_count > 1) op_set_output(c, 1, PGY_I64, x->rank, x->dims);
    if (c->node->output_count > 2)
        op_set_unknown(c, 2, PGY_I64, 1, "it depends on how many values differ");
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    static const size_t SOURCES[] = {Y, INVERSE, COUNTS};
    static const bool wanted[OUTPUTS] = {true, true, true, true};
    const op_attr attrs[] = {{.name = "sorted", .kind = OP_ATTR_INT, .i = 0}};
    const op_node node = {.def = op_find("", "Unique", 11),
                          .name = c->node->name,
                          .opset = 11,
                          .attrs = attrs,
                          .attr_count = 1,
                          .input_count = 1,
                          .output_count = OUTPUTS};
    op_tensor made[OUTPUTS] = {{0}};
    const pgy_status st = op_run(&node, c->inputs, made, wanted, c->host, err);
    for (size_t i = 0; !st && i < c->node->output_count; i++) {
        op_tensor_release(&c->outputs[i]);
        c->outputs[i] = op_tensor_retain(&made[SOURCES[i]]);
    }
    for (size_t i = 0; i < OUTPUTS; i++) op_tensor_release(&made[i]);
    return st;
}

const op_def OP_contrib_unique[] = {
    {.name = "Unique",
     .domain = "com.microsoft",
     .since = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 3,
     .max_outputs = 3,
     .types = "",
     .infer = infer,
     .eval = eval,
     .signature = "T = all; x:T -> y:T, idx:int64, counts:int64"},
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* SequenceConstruct: the inputs as a sequence; they have one type. */
#include "ops/class_loop.h"
#include "ops/class_sequence.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    op_value element = c->inputs[0];
    for (size_t i = 1; i < c->node->input_count; i++)
        loop_merge(c, &element, &c->inputs[i], "the items of a sequence differ");
    return sequence_set(c, 0, &element, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *item;
    op_sequence *made = op_sequence_create(c->node->input_count);
    if (!made) return rule_no_memory(c->node, err);
    for (size_t i = 0; i < made->count; i++) {
        const pgy_status st = rule_input(c, i, &item, err);
        if (st) {
            op_sequence_release(made);
            return st;
        }
        made->items[i] = op_tensor_retain(&c->inputs[i]);
    }
    sequence_output(c, 0, made);
    return PGY_OK;
}

const op_def OP_sequence_construct[] = {
    SEQUENCE_ROW("SequenceConstruct", 11, 1, 255, OP_VARIADIC_INPUTS | OP_SAME_TYPES, NULL, infer,
                 eval),
    {0},
};

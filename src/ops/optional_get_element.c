/* SPDX-License-Identifier: Apache-2.0 */
/* OptionalGetElement: the element of an optional, which must have one. Since version 18 it passes
 * tensors and sequences through. */
#include "ops/class_sequence.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    static const op_value unknown = {.rank = -1};
    const op_value *v = &c->inputs[0];
    (void)err;
    c->outputs[0] = !v->optional ? *v : v->sequence ? *v->sequence : unknown;
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    if (c->inputs[0].sequence && c->inputs[0].sequence->none)
        return op_error(c->node, err, PGY_E_ARGUMENT, "the optional has no element");
    return op_forward(c, 0, 0, err);
}

const op_def OP_optional_get_element[] = {
    SEQUENCE_ROW("OptionalGetElement", 15, 1, 1, 0, NULL, infer, eval),
    SEQUENCE_ROW("OptionalGetElement", 18, 1, 1, 0, NULL, infer, eval),
    SEQUENCE_ROW("OptionalGetElement", 28, 1, 1, 0, NULL, infer, eval),
    {0},
};

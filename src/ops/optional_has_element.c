/* SPDX-License-Identifier: Apache-2.0 */
/* OptionalHasElement: whether an optional has an element. Since version 18 inputs may also be
 * tensors and sequences, which do, or omitted, which do not. */
#include "ops/class_sequence.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    static const dim none[1];
    (void)err;
    op_set_output(c, 0, PGY_BOOL, 0, none);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *y;
    const pgy_status st = rule_output(c, 0, &y, err);
    if (st) return st;
    const bool given = op_has_value(c, 0);
    *(uint8_t *)pgy_tensor_data(y) =
        given && !(c->inputs[0].sequence && c->inputs[0].sequence->none);
    return PGY_OK;
}

const op_def OP_optional_has_element[] = {
    SEQUENCE_ROW("OptionalHasElement", 15, 1, 1, 0, NULL, infer, eval),
    SEQUENCE_ROW("OptionalHasElement", 18, 0, 1, 0, NULL, infer, eval),
    SEQUENCE_ROW("OptionalHasElement", 28, 0, 1, 0, NULL, infer, eval),
    {0},
};

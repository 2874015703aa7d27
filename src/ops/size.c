/* SPDX-License-Identifier: Apache-2.0 */
/* Size: the number of elements, as an int64 scalar. */
#include "ops/rule.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    dim *count = op_dims(c, 1);
    if (!count) return rule_no_memory(c->node, err);
    op_set_output(c, 0, PGY_I64, 0, count);
    if (rule_count(c, count, c->inputs[0].rank, c->inputs[0].dims))
        rule_set_elements(c, 0, count, 1);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) *(int64_t *)pgy_tensor_data(y) = (int64_t)pgy_tensor_count(x);
    return st;
}

const op_def OP_size[] = {
    RULE_ROW("Size", 1, 1, 1, NULL, infer, eval),
    {0},
};

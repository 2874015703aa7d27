/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft ExpandDims: a new axis of length 1 at the position in input 1; a negative position
 * counts from the end of the result. */
#include "ops/rule.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const int64_t *axes;
    size_t count, axis;
    if (x->rank < 0 || !op_input_constants(c, 1, &axes, &count)) {
        op_set_unknown(c, 0, x->dtype, x->rank < 0 ? -1 : x->rank + 1, "the axis is not known");
        return PGY_OK;
    }
    if (count != 1)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input 1 (axis) has %zu elements, but must have one", count);
    pgy_status st = rule_check_rank(c->node, (int64_t)x->rank + 1, err);
    if (!st) st = op_axis(&axis, c->node, axes[0], x->rank + 1, err);
    if (st) return st;
    dim *dims = op_dims(c, (size_t)x->rank + 1);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t d = 0; d <= (size_t)x->rank; d++)
        dims[d] = d < axis ? x->dims[d] : d == axis ? dim_const(1) : x->dims[d - 1];
    op_set_output(c, 0, x->dtype, x->rank + 1, dims);
    return PGY_OK;
}

const op_def OP_expand_dims[] = {
    {.name = "ExpandDims",
     .domain = "com.microsoft",
     .since = 1,
     .min_inputs = 2,
     .max_inputs = 2,
     .min_outputs = 1,
     .max_outputs = 1,
     .types = "",
     .infer = infer,
     .eval = rule_forward,
     .flops = rule_no_flops,
     .signature = "T = all; X:T, axis:int32 -> Y:T"},
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* GatherElements: each output element is the input element at its own position, with the coordinate
 * along the axis replaced by the index. */
#include <string.h>

#include "ops/class_elements.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_status st = elements_check(c, err);
    if (st) return st;
    op_set_output(c, 0, c->inputs[0].dtype, c->inputs[1].rank, c->inputs[1].dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y;
    elements_walk walk;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) st = elements_begin(&walk, c, x, err);
    if (st) return st;
    const size_t bytes = move_size(pgy_tensor_dtype(x));
    char *to = pgy_tensor_data(y);
    const char *from = pgy_tensor_data(x);
    for (size_t i = 0, at; i < walk.count; i++) {
        st = elements_next(&walk, c, &at, err);
        if (st) return st;
        memcpy(to + i * bytes, from + at * bytes, bytes);
    }
    return move_own(y, err);
}

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, false, "0"},
    {0},
};

const op_def OP_gather_elements[] = {
    RULE_ROW("GatherElements", 11, 2, 2, ATTRS, infer, eval),
    {0},
};

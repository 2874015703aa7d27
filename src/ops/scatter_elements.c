/* SPDX-License-Identifier: Apache-2.0 */
/* ScatterElements, formerly Scatter: a copy of the data in which updates replace the elements at
 * the indices or, since version 16, are reduced with them. Updates are applied in order. */
#include <string.h>

#include "ops/class_elements.h"

static const op_attr_def ATTRS_11[] = {
    {"axis", OP_ATTR_INT, false, "0"},
    {0},
};
static const op_attr_def ATTRS_16[] = {
    {"axis", OP_ATTR_INT, false, "0"},
    {"reduction", OP_ATTR_STRING, false, "none", "none add mul max min"},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *indices = &c->inputs[1], *updates = &c->inputs[2];
    pgy_status st = elements_check(c, err);
    if (!st) st = rule_same_type(c, 0, 2, err);
    if (st) return st;
    bool differ = indices->rank >= 0 && updates->rank >= 0 && indices->rank != updates->rank;
    for (int32_t d = 0; d < indices->rank && !differ && updates->rank >= 0; d++)
        differ = dim_differ(indices->dims[d], updates->dims[d]);
    if (differ)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the indices and the updates have different shapes");
    op_set_like(c, 0, 0);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *updates, *y;
    elements_walk walk;
    scatter_reduction reduction;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_input(c, 2, &updates, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) st = elements_begin(&walk, c, x, err);
    if (!st) st = scatter_reduction_of(&reduction, c->node, err);
    if (st) return st;
    const pgy_dtype storage = pgy_tensor_dtype(x);
    if (pgy_tensor_count(updates) != walk.count || pgy_tensor_dtype(updates) != storage)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the updates do not fit the indices in number or type");
    const size_t bytes = move_size(storage);
    char *to = pgy_tensor_data(y);
    const char *from = pgy_tensor_data(updates);
    memcpy(to, pgy_tensor_data(x), pgy_tensor_count(x) * bytes);
    for (size_t i = 0, at; i < walk.count; i++) {
        st = elements_next(&walk, c, &at, err);
        if (!st)
            st = scatter_apply(c->node, storage, reduction, to + at * bytes, from + i * bytes, 1,
                               err);
        if (st) return st;
    }
    return move_own(y, err);
}

const op_def OP_scatter_elements[] = {
    {.name = "Scatter",
     .domain = "",
     .since = 9,
     .deprecated = 11,
     .min_inputs = 3,
     .max_inputs = 3,
     .min_outputs = 1,
     .max_outputs = 1,
     .attrs = ATTRS_11,
     .types = "",
     .infer = infer,
     .eval = eval,
     .flops = rule_no_flops},
    RULE_ROW("ScatterElements", 11, 3, 3, ATTRS_11, infer, eval),
    RULE_ROW("ScatterElements", 16, 3, 3, ATTRS_16, infer, eval),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of tensors of parallel branches. */
#include "ops/class_branches.h"

bool branches_are_flat(const op_node *n)
{
    return op_attr_int(n, "num_branches", 0) > 0;
}

pgy_status branches_check(const op_infer *c, size_t input, pgy_error *err)
{
    const op_value *x = &c->inputs[input];
    const int64_t count = op_attr_int(c->node, "num_branches", 0);
    const pgy_status st =
        rank_check(c, input, branches_are_flat(c->node) ? 1 : 2, PGY_MAX_RANK, err);
    if (st || x->rank < 0 || !branches_are_flat(c->node)) return st;
    const dim last = x->dims[x->rank - 1];
    if (dim_is_const(last) && last.value % count)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the last axis of input %zu has %lld elements, which is not a multiple of "
                        "attribute num_branches = %lld",
                        input, (long long)last.value, (long long)count);
    return PGY_OK;
}

branches branches_of(const op_eval *c, size_t input)
{
    const size_t rank = in_rank(c, input);
    const int64_t *shape = in_shape(c, input);
    branches b = {.count = (size_t)op_attr_int(c->node, "num_branches", 0)};
    if (b.count) {
        b.width = (size_t)shape[rank - 1] / b.count;
    } else {
        b.count = (size_t)shape[rank - 2];
        b.width = (size_t)shape[rank - 1];
    }
    b.rows = in_count(c, input) / (b.count * b.width);
    return b;
}

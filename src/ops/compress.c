/* SPDX-License-Identifier: Apache-2.0 */
/* Compress: the slices along an axis, or without one the elements, whose condition is true. The
 * condition may be shorter than the axis. */
#include <string.h>

#include "ops/move.h"
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, false, NULL},
    {0},
};

/* Reads attribute axis; *flat: it is absent, so the input is flattened to a vector. */
static pgy_status find_axis(size_t *out, bool *flat, const op_node *n, int32_t rank, pgy_error *err)
{
    *flat = !op_attr_find(n, "axis");
    *out = 0;
    return *flat ? PGY_OK : op_axis(out, n, op_attr_int(n, "axis", 0), rank, err);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    size_t axis;
    bool flat;
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, op_attr_find(c->node, "axis") ? -1 : 1,
                       "it depends on the values of the condition");
        return PGY_OK;
    }
    pgy_status st = find_axis(&axis, &flat, c->node, x->rank, err);
    if (st) return st;
    dim *dims = flat ? op_dims(c, 1) : rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    dim most = flat ? dim_const(0) : x->dims[axis];
    if (flat) (void)rule_count(c, &most, x->rank, x->dims);
    dims[axis] = dim_unknown_upto(c->dims, "it depends on the values of the condition", most);
    op_set_output(c, 0, x->dtype, flat ? 1 : x->rank, dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *condition;
    size_t axis = 0, kept = 0;
    bool flat = false;
    int64_t shape[PGY_MAX_RANK];
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_input(c, 1, &condition, err);
    if (!st) st = find_axis(&axis, &flat, c->node, (int32_t)pgy_tensor_rank(x), err);
    if (st) return st;
    if (pgy_tensor_dtype(condition) != PGY_BOOL)
        return op_error(c->node, err, PGY_E_TYPE, "the condition must be bool");
    const int64_t *own = pgy_tensor_shape(x);
    const size_t rank = pgy_tensor_rank(x), bytes = move_size(pgy_tensor_dtype(x));
    const size_t size = flat ? pgy_tensor_count(x) : (size_t)own[axis];
    const size_t outer = flat ? 1 : move_product(own, 0, axis);
    const size_t block = flat ? bytes : move_product(own, axis + 1, rank) * bytes;
    const uint8_t *keep = pgy_tensor_data(condition);
    const size_t given = pgy_tensor_count(condition) < size ? pgy_tensor_count(condition) : size;
    for (size_t i = 0; i < given; i++) kept += keep[i] != 0;
    for (size_t d = 0; d < rank; d++) shape[d] = own[d];
    shape[axis] = (int64_t)kept;
    st = op_output(c, 0, PGY_DTYPE_NONE, flat ? 1 : rank, shape, err);
    if (st) return st;
    char *to = pgy_tensor_data(c->outputs[0].value);
    const char *from = pgy_tensor_data(x);
    for (size_t o = 0; o < outer; o++)
        for (size_t i = 0; i < given; i++) {
            if (!keep[i]) continue;
            memcpy(to, from + (o * size + i) * block, block);
            to += block;
        }
    return move_own(c->outputs[0].value, err);
}

const op_def OP_compress[] = {
    RULE_ROW("Compress", 9, 2, 2, ATTRS, infer, eval),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* NonZero: the positions of elements that are not zero, one row per axis; a scalar counts as a
 * vector. */
#include "ops/rule.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    static const char WHY[] = "it depends on the values of the input";
    const op_value *x = &c->inputs[0];
    op_set_unknown(c, 0, PGY_I64, 2, WHY);
    if (x->rank < 0) return PGY_OK;
    dim *dims = c->outputs[0].rank == 2 ? rule_copy_dims(c, &c->outputs[0]) : NULL;
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = dim_const(x->rank ? x->rank : 1);
    dim most;
    if (rule_count(c, &most, x->rank, x->dims)) dims[1] = dim_unknown_upto(c->dims, WHY, most);
    op_set_output(c, 0, PGY_I64, 2, dims);
    return PGY_OK;
}

static bool is_set(pgy_dtype storage, const void *data, size_t i)
{
    switch (storage) {
    case PGY_F64: return ((const double *)data)[i] != 0;
    case PGY_C128:
        return ((const double *)data)[2 * i] != 0 || ((const double *)data)[2 * i + 1] != 0;
    case PGY_BOOL: return ((const uint8_t *)data)[i] != 0;
    case PGY_STRING: return ((const pgy_string *)data)[i].size != 0;
    default: return ((const uint64_t *)data)[i] != 0;
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x;
    pgy_status st = rule_input(c, 0, &x, err);
    if (st) return st;
    const size_t rank = pgy_tensor_rank(x), count = pgy_tensor_count(x);
    const int64_t *shape = pgy_tensor_shape(x);
    const void *data = pgy_tensor_data(x);
    size_t found = 0;
    for (size_t i = 0; i < count; i++) found += is_set(pgy_tensor_dtype(x), data, i);
    const int64_t out[] = {rank ? (int64_t)rank : 1, (int64_t)found};
    st = op_output(c, 0, PGY_I64, 2, out, err);
    if (st) return st;
    int64_t *to = pgy_tensor_data(c->outputs[0].value);
    for (size_t i = 0, n = 0; i < count; i++) {
        if (!is_set(pgy_tensor_dtype(x), data, i)) continue;
        size_t rest = i;
        for (size_t d = rank; d-- > 0;) {
            to[d * found + n] = (int64_t)(rest % (size_t)shape[d]);
            rest /= (size_t)shape[d];
        }
        n++;
    }
    return PGY_OK;
}

const op_def OP_non_zero[] = {
    RULE_ROW("NonZero", 9, 1, 1, NULL, infer, eval),
    {0},
};

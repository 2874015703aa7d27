/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft ReduceSumInteger: bytes are summed along axes into 32 bits, signed as the input. */
#include "ops/class_check.h"

static const op_attr_def ATTRS[] = {
    {"axes", OP_ATTR_INTS, true, NULL},
    {"keepdims", OP_ATTR_INT, true, NULL},
    {NULL},
};

/* Marks the axes to sum along; an empty list means all of them. */
static pgy_status read_axes(bool *summed, const op_node *n, size_t rank, pgy_error *err)
{
    size_t axes[PGY_MAX_RANK], count;
    const int64_t *given = op_attr_ints(n, "axes", &count);
    const pgy_status st = rule_axes(axes, n, given, count, (int32_t)rank, err);
    for (size_t d = 0; !st && d < rank; d++) summed[d] = !count;
    for (size_t i = 0; !st && i < count; i++) summed[axes[i]] = true;
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    const bool keep = op_attr_int(c->node, "keepdims", 1) != 0;
    const pgy_dtype type = x->dtype == PGY_U8 ? PGY_U32 : PGY_I32;
    bool summed[PGY_MAX_RANK];
    if (x->rank < 0) {
        op_set_unknown(c, 0, type, -1, "the shape of the input is not known");
        return PGY_OK;
    }
    const pgy_status st = read_axes(summed, c->node, (size_t)x->rank, err);
    dim *dims = rule_copy_dims(c, x);
    if (st || !dims) return st ? st : rule_no_memory(c->node, err);
    int32_t rank = 0;
    for (int32_t d = 0; d < x->rank; d++)
        if (!summed[d] || keep) dims[rank++] = summed[d] ? dim_const(1) : x->dims[d];
    op_set_output(c, 0, type, rank, dims);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const size_t rank = in_rank(c, 0);
    size_t steps[PGY_MAX_RANK], next = 1;
    int64_t at[PGY_MAX_RANK] = {0};
    bool summed[PGY_MAX_RANK];
    pgy_status st = inputs_check(c, "I", err);
    if (!st) st = read_axes(summed, c->node, rank, err);
    if (st) return st;
    for (size_t d = rank; d-- > 0;) {
        steps[d] = summed[d] ? 0 : next;
        if (!summed[d]) next *= (size_t)in_shape(c, 0)[d];
    }
    for (size_t i = 0, place = 0; i < in_count(c, 0); i++) {
        out_i64(c, 0)[place] += in_i64(c, 0)[i];
        for (size_t d = rank; d-- > 0;) {
            place += steps[d];
            if (++at[d] < in_shape(c, 0)[d]) break;
            place -= steps[d] * (size_t)at[d];
            at[d] = 0;
        }
    }
    return PGY_OK;
}

const op_def OP_reduce_sum_integer[] = {
    {"ReduceSumInteger", "com.microsoft", 1, 0, 1, 1, 1, 1, 0, ATTRS, "int8 uint8", infer, eval,
     NULL, .signature = "T1 = int8 uint8; T2 = int32 uint32; data:T1 -> reduced:T2"},
    {NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft FusedMatMul: alpha * A' * B', where transA and transB exchange the last two axes
 * and transBatchA and transBatchB move the first axis before the last but one. The inputs are
 * transposed first, then multiplied like in MatMul. */
#include <string.h>

#include "ops/class_matmul.h"
#include "ops/move.h"

static const op_attr_def ATTRS[] = {
    {"alpha", OP_ATTR_FLOAT, false, "1"},     {"transA", OP_ATTR_INT, false, "0"},
    {"transB", OP_ATTR_INT, false, "0"},      {"transBatchA", OP_ATTR_INT, false, "0"},
    {"transBatchB", OP_ATTR_INT, false, "0"}, {NULL},
};

/* Gives the permutation that transposes an input: order[i] is the input axis that becomes axis i.
 */
static void order_of(size_t *order, const op_node *n, size_t input, size_t rank)
{
    for (size_t d = 0; d < rank; d++) order[d] = d;
    if (rank < 2) return;
    if (op_attr_int(n, input ? "transBatchB" : "transBatchA", 0)) {
        for (size_t d = 0; d + 2 < rank; d++) order[d] = d + 1;
        order[rank - 2] = 0;
    }
    if (op_attr_int(n, input ? "transB" : "transA", 0)) {
        const size_t row = order[rank - 2];
        order[rank - 2] = order[rank - 1];
        order[rank - 1] = row;
    }
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    op_value ordered[2] = {c->inputs[0], c->inputs[1]};
    for (size_t i = 0; i < 2; i++) {
        size_t order[PGY_MAX_RANK];
        const op_value *v = &c->inputs[i];
        pgy_status st = rule_check_rank(c->node, v->rank, err);
        if (st) return st;
        if (v->rank < 0) continue;
        dim *dims = rule_copy_dims(c, v);
        if (!dims) return rule_no_memory(c->node, err);
        order_of(order, c->node, i, (size_t)v->rank);
        for (int32_t d = 0; d < v->rank; d++) dims[d] = v->dims[order[d]];
        ordered[i].dims = dims;
    }
    op_infer inner = *c;
    inner.inputs = ordered;
    const pgy_status st = matmul_infer(&inner, 0, 1, c->inputs[0].dtype, err);
    c->why = inner.why;
    return st;
}

static pgy_status put_in_order(op_tensor *out, const op_eval *c, size_t input, pgy_error *err)
{
    const pgy_tensor *x = c->inputs[input].value;
    const size_t rank = pgy_tensor_rank(x);
    size_t order[PGY_MAX_RANK];
    int64_t shape[PGY_MAX_RANK];
    ptrdiff_t strides[PGY_MAX_RANK];
    move_box box;
    order_of(order, c->node, input, rank);
    for (size_t d = 0; d < rank; d++) shape[d] = pgy_tensor_shape(x)[order[d]];
    pgy_status st = pgy_tensor_create(&out->value, PGY_F64, rank, shape, err);
    if (st) return st;
    out->dtype = c->inputs[input].dtype;
    move_strides(strides, rank, pgy_tensor_shape(x));
    move_box_init(&box, rank, shape);
    for (size_t d = 0; d < rank; d++) box.from[d] = strides[order[d]];
    move_copy(pgy_tensor_data(out->value), pgy_tensor_data(x), sizeof(double), &box);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    op_tensor ordered[2] = {0};
    matmul_plan p;
    const double alpha = op_attr_float(c->node, "alpha", 1);
    pgy_status st = inputs_check(c, "FF", err);
    for (size_t i = 0; !st && i < 2; i++) st = put_in_order(&ordered[i], c, i, err);
    if (!st) {
        op_eval inner = *c;
        inner.inputs = ordered;
        matmul_prepare(&p, &inner, 0, 1);
        st = matmul_run_f64(&p, in_f64(&inner, 0), in_f64(&inner, 1), out_f64(c, 0), err);
    }
    for (size_t i = 0; !st && alpha != 1 && i < out_count(c, 0); i++) out_f64(c, 0)[i] *= alpha;
    op_tensor_release(&ordered[0]);
    op_tensor_release(&ordered[1]);
    return st;
}

const op_def OP_fused_mat_mul[] = {
    {"FusedMatMul", "com.microsoft", 1, 0, 2, 2, 1, 1, OP_SAME_TYPES, ATTRS, TYPES_F4, infer, eval,
     NULL, .signature = "T = float16 float32 float64 bfloat16; A:T, B:T -> Y:T"},
    {NULL},
};

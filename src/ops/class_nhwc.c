/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on images with the channels last: the standard operator runs on copies with the
 * channels in axis 1, and its output is copied back. */
#include "ops/class_nhwc.h"

#include <string.h>

#include "ops/move.h"

enum { MAX_INPUTS = 9 };

dim *nhwc_to_nchw_dims(op_infer *c, const dim *dims, int32_t rank)
{
    dim *to = op_dims(c, (size_t)rank + 1);
    for (int32_t d = 0; to && d < rank; d++)
        to[d] = dims[d == 0 || rank < 2 ? d : d == 1 ? rank - 1 : d - 1];
    return to;
}

dim *nhwc_from_nchw_dims(op_infer *c, const dim *dims, int32_t rank)
{
    dim *to = op_dims(c, (size_t)rank + 1);
    for (int32_t d = 0; to && d < rank; d++)
        to[d] = dims[d == 0 || rank < 2 ? d : d + 1 == rank ? 1 : d + 1];
    return to;
}

static pgy_status reorder(pgy_tensor **out, const pgy_tensor *x, bool back, pgy_error *err)
{
    const size_t rank = pgy_tensor_rank(x);
    const pgy_dtype held = pgy_tensor_dtype(x);
    int64_t shape[PGY_MAX_RANK];
    ptrdiff_t strides[PGY_MAX_RANK];
    size_t order[PGY_MAX_RANK];
    move_box box;
    pgy_tensor *made = NULL;
    for (size_t d = 0; d < rank; d++) {
        if (d == 0 || rank < 2)
            order[d] = d;
        else if (back)
            order[d] = d + 1 == rank ? 1 : d + 1;
        else
            order[d] = d == 1 ? rank - 1 : d - 1;
        shape[d] = pgy_tensor_shape(x)[order[d]];
    }
    pgy_status st = pgy_tensor_create(&made, held, rank, shape, err);
    if (st) return st;
    move_strides(strides, rank, pgy_tensor_shape(x));
    move_box_init(&box, rank, shape);
    for (size_t d = 0; d < rank; d++) box.from[d] = strides[order[d]];
    move_copy(pgy_tensor_data(made), pgy_tensor_data(x), move_size(held), &box);
    *out = made;
    return PGY_OK;
}

pgy_status nhwc_to_nchw(pgy_tensor **out, const pgy_tensor *x, pgy_error *err)
{
    return reorder(out, x, false, err);
}

pgy_status nhwc_from_nchw(pgy_tensor **out, const pgy_tensor *x, pgy_error *err)
{
    return reorder(out, x, true, err);
}

static op_node inner_node(const op_node *n)
{
    const nhwc_spec *s = n->def->user_data;
    op_node inner = *n;
    inner.signature = NULL;
    inner.def = op_find(s->domain, s->inner, s->version);
    inner.opset = s->version;
    return inner;
}

static bool is_reordered(const op_node *n, size_t input)
{
    const nhwc_spec *s = n->def->user_data;
    return input == 0 || (s->inputs >> input & 1);
}

pgy_status nhwc_infer(op_infer *c, pgy_error *err)
{
    const op_node node = inner_node(c->node);
    op_value values[MAX_INPUTS];
    op_infer inner = *c;
    for (size_t i = 0; i < node.input_count; i++) {
        values[i] = c->inputs[i];
        values[i].data = NULL;
        if (!is_reordered(c->node, i) || values[i].rank < 0) continue;
        values[i].dims = nhwc_to_nchw_dims(c, values[i].dims, values[i].rank);
        if (!values[i].dims) return rule_no_memory(c->node, err);
    }
    inner.node = &node;
    inner.inputs = values;
    const pgy_status st = node.def->infer(&inner, err);
    c->why = inner.why;
    if (st || c->outputs[0].rank < 0) return st;
    dim *dims = nhwc_from_nchw_dims(c, c->outputs[0].dims, c->outputs[0].rank);
    if (!dims) return rule_no_memory(c->node, err);
    op_set_output(c, 0, c->outputs[0].dtype, c->outputs[0].rank, dims);
    return PGY_OK;
}

pgy_status nhwc_eval(op_eval *c, pgy_error *err)
{
    static const bool wanted[1] = {true};
    const op_node node = inner_node(c->node);
    op_tensor in[MAX_INPUTS] = {{0}}, made = {0};
    pgy_tensor *y = NULL;
    op_host host = c->host ? *c->host : (op_host){0};
    pgy_status st = PGY_OK;
    host.model_precision = false;
    for (size_t i = 0; !st && i < node.input_count; i++) {
        if (!op_has_value(c, i)) continue;
        in[i] = op_tensor_retain(&c->inputs[i]);
        if (!is_reordered(c->node, i)) continue;
        pgy_tensor_release(in[i].value);
        in[i].value = NULL;
        st = nhwc_to_nchw(&in[i].value, c->inputs[i].value, err);
    }
    if (!st) st = op_run(&node, in, &made, wanted, &host, err);
    if (!st) st = nhwc_from_nchw(&y, made.value, err);
    if (!st) {
        pgy_tensor_release(c->outputs[0].value);
        c->outputs[0].value = y;
    }
    op_tensor_release(&made);
    for (size_t i = 0; i < node.input_count; i++) op_tensor_release(&in[i]);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised operators that run the float operator on dequantised inputs. Each tensor has one scale
 * and zero point. */
#include "ops/class_qlinear.h"

#include "base/alloc.h"
#include "ops/class_nhwc.h"
#include "ops/class_quantize.h"

static size_t data_count(const op_node *n)
{
    const qlinear_spec *s = n->def->user_data;
    return s->count ? s->count : (n->input_count - s->first) / 3;
}

static pgy_status inner_node(op_node *inner, const op_node *n, pgy_error *err)
{
    const qlinear_spec *s = n->def->user_data;
    const int64_t version = op_attr_int(n, "opset", s->version);
    *inner = *n;
    inner->signature = NULL;
    inner->opset = version;
    inner->def = op_find("", s->inner, version);
    inner->input_count = data_count(n);
    if (!inner->def)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute opset is %lld, which has no such operator", (long long)version);
    if (!inner->input_count || (n->input_count - s->first) % 3 > (s->scale > s->first ? 2 : 0))
        return op_error(n, err, PGY_E_FORMAT,
                        "the node has %zu inputs, which does not fit the operator", n->input_count);
    return PGY_OK;
}

static bool is_channels_last(const op_node *n)
{
    return op_attr_int(n, "channels_last", 0) != 0;
}

pgy_status qlinear_infer(op_infer *c, pgy_error *err)
{
    const qlinear_spec *s = c->node->def->user_data;
    const bool last = is_channels_last(c->node);
    op_node node;
    op_infer inner = *c;
    pgy_status st = inner_node(&node, c->node, err);
    if (st) return st;
    op_value *values = arena_alloc_array(c->memory, node.input_count, sizeof *values);
    bool *present = arena_alloc_array(c->memory, node.input_count, sizeof *present);
    if (!values || !present) return rule_no_memory(c->node, err);
    for (size_t i = 0; i < node.input_count; i++) {
        const op_value *v = &c->inputs[s->first + 3 * i];
        values[i] = (op_value){.dtype = PGY_F32, .rank = v->rank, .dims = v->dims};
        present[i] = true;
        if (last && v->rank >= 0) values[i].dims = nhwc_to_nchw_dims(c, v->dims, v->rank);
        if (last && v->rank >= 0 && !values[i].dims) return rule_no_memory(c->node, err);
    }
    inner.node = &node;
    inner.inputs = values;
    inner.present = present;
    st = node.def->infer(&inner, err);
    if (st) return st;
    c->why = inner.why;
    op_value *y = &c->outputs[0];
    if (last && y->rank >= 0) y->dims = nhwc_from_nchw_dims(c, y->dims, y->rank);
    if (last && y->rank >= 0 && !y->dims) return rule_no_memory(c->node, err);
    const size_t zero = s->scale + 1;
    y->dtype = c->inputs[op_has_input(c, zero) ? zero : s->first].dtype;
    return PGY_OK;
}

static pgy_status check_scalar(const op_eval *c, size_t i, bool integer, pgy_error *err)
{
    const pgy_tensor *t = c->inputs[i].value;
    if (t && pgy_tensor_count(t) == 1 && pgy_tensor_dtype(t) == (integer ? PGY_I64 : PGY_F64))
        return PGY_OK;
    return op_error(c->node, err, PGY_E_TYPE, "input %zu must be one %s", i,
                    integer ? "integer" : "float");
}

/* Reads scale and zero point from inputs i and i + 1. */
static pgy_status read_scale(const op_eval *c, size_t i, double *scale, int64_t *zero,
                             pgy_error *err)
{
    *zero = 0;
    pgy_status st = check_scalar(c, i, false, err);
    if (!st && op_has_value(c, i + 1)) {
        st = check_scalar(c, i + 1, true, err);
        if (!st) *zero = in_i64(c, i + 1)[0];
    }
    if (!st) *scale = in_f64(c, i)[0];
    return st;
}

pgy_status qlinear_dequantise(op_tensor *out, const op_eval *c, size_t i, pgy_error *err)
{
    double scale;
    int64_t zero;
    pgy_tensor *x;
    pgy_status st = rule_input(c, i, &x, err);
    if (!st) st = read_scale(c, i + 1, &scale, &zero, err);
    if (!st && pgy_tensor_dtype(x) != PGY_I64)
        st = op_error(c->node, err, PGY_E_TYPE, "input %zu must be quantised", i);
    if (!st)
        st = pgy_tensor_create(&out->value, PGY_F64, pgy_tensor_rank(x), pgy_tensor_shape(x), err);
    if (st) return st;
    out->dtype = PGY_F32;
    for (size_t k = 0; k < pgy_tensor_count(x); k++)
        op_f64(out->value)[k] = (double)(op_i64(x)[k] - zero) * scale;
    return PGY_OK;
}

pgy_status qlinear_quantise(op_eval *c, const pgy_tensor *made, size_t from, pgy_error *err)
{
    double scale;
    int64_t zero;
    pgy_tensor *y;
    pgy_status st = rule_output(c, 0, &y, err);
    if (!st) st = read_scale(c, from, &scale, &zero, err);
    if (st) return st;
    if (pgy_tensor_dtype(y) != PGY_I64 || pgy_tensor_count(y) != pgy_tensor_count(made))
        return op_error(c->node, err, PGY_E_TYPE, "cannot quantise to %s",
                        pgy_dtype_name(c->outputs[0].dtype));
    for (size_t k = 0; k < pgy_tensor_count(y); k++)
        op_i64(y)[k] = quantize_int(op_f64(made)[k] / scale, zero, c->outputs[0].dtype);
    return PGY_OK;
}

typedef pgy_status (*reorder)(pgy_tensor **out, const pgy_tensor *x, pgy_error *err);

static pgy_status replace(op_tensor *t, reorder order, pgy_error *err)
{
    pgy_tensor *made = NULL;
    const pgy_status st = order(&made, t->value, err);
    if (st) return st;
    pgy_tensor_release(t->value);
    t->value = made;
    return PGY_OK;
}

pgy_status qlinear_eval(op_eval *c, pgy_error *err)
{
    const qlinear_spec *s = c->node->def->user_data;
    const bool last = is_channels_last(c->node);
    const bool wanted[1] = {true};
    op_node node;
    op_tensor *in = NULL, made = {0};
    op_host host = c->host ? *c->host : (op_host){0};
    host.model_precision = false;
    pgy_status st = inner_node(&node, c->node, err);
    if (st) return st;
    in = mem_calloc(node.input_count, sizeof *in);
    if (!in) return rule_no_memory(c->node, err);
    for (size_t i = 0; !st && i < node.input_count; i++) {
        st = qlinear_dequantise(&in[i], c, s->first + 3 * i, err);
        if (!st && last) st = replace(&in[i], nhwc_to_nchw, err);
    }
    if (!st) st = op_run(&node, in, &made, wanted, &host, err);
    if (!st && last) st = replace(&made, nhwc_from_nchw, err);
    if (!st) st = qlinear_quantise(c, made.value, s->scale, err);
    for (size_t i = 0; i < node.input_count; i++) op_tensor_release(&in[i]);
    op_tensor_release(&made);
    mem_free(in);
    return st;
}

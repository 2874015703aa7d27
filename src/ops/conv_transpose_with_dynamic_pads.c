/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft ConvTransposeWithDynamicPads: ConvTranspose whose pads are input 2. */
#include <inttypes.h>

#include "ops/class_check.h"
#include "ops/class_window.h"

enum { X, W, PADS, BIAS };
enum { MAX_ATTRS = 16 };

static const op_attr_def ATTRS[] = {
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"dilations", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"group", OP_ATTR_INT, false, "1", NULL, "1.."},
    {"kernel_shape", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"output_padding", OP_ATTR_INTS, false, NULL},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};

/* ConvTranspose with the node's attributes and these pads; `attrs` has MAX_ATTRS places. */
static pgy_status inner_node(op_node *out, op_attr *attrs, const op_node *n, const int64_t *pads,
                             size_t count, pgy_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (pads[i] < 0 || pads[i] > INT32_MAX)
            return op_error(n, err, PGY_E_ARGUMENT,
                            "input 2 (Pads) has the value %" PRId64 ", which is out of range",
                            pads[i]);
    if (n->attr_count + 1 > MAX_ATTRS)
        return op_error(n, err, PGY_E_FORMAT, "the node has %zu attributes, more than it can use",
                        n->attr_count);
    for (size_t i = 0; i < n->attr_count; i++) attrs[i] = n->attrs[i];
    attrs[n->attr_count] =
        (op_attr){.name = "pads", .kind = OP_ATTR_INTS, .ints = pads, .count = count};
    *out = *n;
    out->def = op_find("", "ConvTranspose", 22);
    out->opset = 22;
    out->signature = NULL;
    out->attrs = attrs;
    out->attr_count = n->attr_count + (count ? 1 : 0);
    out->input_count = 3;
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    op_attr attrs[MAX_ATTRS];
    op_node node;
    const int64_t *pads = NULL;
    size_t count = 0;
    pgy_status st = rank_check(c, PADS, 1, 1, err);
    if (st) return st;
    if (op_has_input(c, PADS) && !op_input_constants(c, PADS, &pads, &count)) {
        op_set_unknown(c, 0, c->inputs[X].dtype, c->inputs[X].rank, "the pads are not known");
        return rank_check(c, X, 3, WINDOW_MAX + 2, err);
    }
    st = inner_node(&node, attrs, c->node, pads, count, err);
    if (st) return st;
    const bool has_bias = op_has_input(c, BIAS);
    const op_value values[] = {c->inputs[X], c->inputs[W],
                               has_bias ? c->inputs[BIAS] : (op_value){.rank = -1}};
    const bool present[] = {op_has_input(c, X), op_has_input(c, W), has_bias};
    op_infer inner = *c;
    inner.node = &node;
    inner.inputs = values;
    inner.present = present;
    st = node.def->infer(&inner, err);
    c->why = inner.why;
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    static const bool wanted[1] = {true};
    op_attr attrs[MAX_ATTRS];
    op_node node;
    op_tensor made = {0};
    const int64_t *pads = NULL;
    size_t count = 0;
    pgy_status st = inputs_check(c, "FFif", err);
    if (!st && op_has_value(c, PADS)) st = op_eval_ints(c, PADS, &pads, &count, err);
    if (!st) st = inner_node(&node, attrs, c->node, pads, count, err);
    if (st) return st;
    const op_tensor in[] = {c->inputs[X], c->inputs[W],
                            op_has_value(c, BIAS) ? c->inputs[BIAS] : (op_tensor){0}};
    op_host host = c->host ? *c->host : (op_host){0};
    host.model_precision = false;
    st = op_run(&node, in, &made, wanted, &host, err);
    if (st) return st;
    op_tensor_release(&c->outputs[0]);
    c->outputs[0] = made;
    return PGY_OK;
}

const op_def OP_conv_transpose_with_dynamic_pads[] = {
    {"ConvTransposeWithDynamicPads", "com.microsoft", 1, 0, 2, 4, 1, 1, 0, ATTRS, TYPES_F3, infer,
     eval, NULL, .signature = "T = float16 float32 float64; X:T, W:T, ?Pads:int64, ?B:T -> Y:T"},
    {NULL},
};

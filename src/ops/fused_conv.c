/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft FusedConv: a convolution, the addition of a tensor, and an activation. The pgy
 * variant, which the engine's passes make, has more activations. */
#include <string.h>

#include "ops/class_activation.h"
#include "ops/class_conv.h"

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, NULL},
    {"activation_params", OP_ATTR_FLOATS, false, NULL},
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"dilations", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"group", OP_ATTR_INT, false, "1", NULL, "1.."},
    {"kernel_shape", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};

static pgy_status read_activation(activation *a, const op_node *n, pgy_error *err)
{
    return strcmp(n->def->domain, "pgy") ? activation_read(a, n, err)
                                         : activation_read_pgy(a, n, err);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    activation a;
    const pgy_status st = read_activation(&a, c->node, err);
    return st ? st : conv_infer(c, 1, 2, c->inputs[0].dtype, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    conv_problem p;
    activation a;
    pgy_status st = inputs_check(c, "FFff", err);
    if (!st) st = read_activation(&a, c->node, err);
    if (!st) st = conv_prepare(&p, c, 1, err);
    if (!st && in_f64(c, 3) && in_count(c, 3) != out_count(c, 0))
        st = op_error(c->node, err, PGY_E_SHAPE, "input 3 has %zu elements, but the output has %zu",
                      in_count(c, 3), out_count(c, 0));
    if (st) return st;
    p.x = in_f64(c, 0);
    p.w = in_f64(c, 1);
    p.bias = in_f64(c, 2);
    p.y = out_f64(c, 0);
    st = conv_run(&p, err);
    if (st) return st;
    for (size_t i = 0; in_f64(c, 3) && i < out_count(c, 0); i++) p.y[i] += in_f64(c, 3)[i];
    activation_apply(&a, p.y, out_count(c, 0));
    return PGY_OK;
}

static double flops(const op_infer *c)
{
    return conv_flops(c, 1);
}

const op_def OP_fused_conv[] = {
    {"FusedConv", "com.microsoft", 1, 0, 2, 4, 1, 1, OP_SAME_TYPES, ATTRS, TYPES_F3, infer, eval,
     flops, .signature = "T = float16 float32 float64; X:T, W:T, ?B:T, ?Z:T -> Y:T"},
    {"FusedConv", "pgy", 1, 0, 2, 4, 1, 1, 0, ATTRS, TYPES_F4, infer, eval, flops,
     .signature = "T = float16 float32 float64 bfloat16; TW = float16 float32 float64 bfloat16; "
                  "X:T, W:TW, ?B:TW, ?Z:T -> Y:T"},
    {NULL},
};

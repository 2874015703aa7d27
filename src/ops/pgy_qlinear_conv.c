/* SPDX-License-Identifier: Apache-2.0 */
/* pgy QLinearConv, which the engine's passes make: ONNX's QLinearConv with a Relu before the output
 * is quantised, so no result is below the zero point; with attribute channels_last on images that
 * have them there. With R, Y is the QLinearAdd of com.microsoft of that result and R, of the scale
 * and zero point of the sum. */
#include "ops/class_integer.h"
#include "ops/class_nhwc.h"

enum { Y_SCALE = 6, Y_ZERO, CONV_INPUTS = 9, R = 9 };

static const op_attr_def ATTRS[] = {
    {"activation", OP_ATTR_STRING, false, NULL, "Relu"},
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"channels_last", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {"dilations", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"group", OP_ATTR_INT, false, "1", NULL, "1.."},
    {"kernel_shape", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {0},
};

/* The node without the sum. */
static op_node conv_of(const op_node *n)
{
    op_node conv = *n;
    if (conv.input_count > CONV_INPUTS) conv.input_count = CONV_INPUTS;
    return conv;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_node node = conv_of(c->node);
    op_infer conv = *c;
    conv.node = &node;
    const pgy_status st = qlinear_conv_infer(&conv, err);
    c->why = conv.why;
    return st;
}

static pgy_status add(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "IFIIFIFIiIFIFI", err);
    if (st) return st;
    if (in_count(c, R) != out_count(c, 0))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input %d (R) has %zu elements, but the convolution gives %zu", R,
                        in_count(c, R), out_count(c, 0));
    return integer_add(c, Y_SCALE, R, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_node node = conv_of(c->node);
    op_eval conv = *c;
    conv.node = &node;
    pgy_status st = qlinear_conv_eval(&conv, err);
    const int64_t zero = st ? 0 : in_i64(c, Y_ZERO)[0];
    int64_t *y = st ? NULL : out_i64(c, 0);
    const bool relu = op_attr_is(c->node, "activation", "Relu", "");
    for (size_t i = 0; !st && relu && i < out_count(c, 0); i++) y[i] = y[i] > zero ? y[i] : zero;
    return st || c->node->input_count <= R ? st : add(c, err);
}

const op_def OP_pgy_qlinear_conv[] = {
    {"QLinearConv", "pgy", 1, 0, 8, 14, 1, 1, 0, ATTRS, "int8 uint8", infer, eval, NULL,
     .signature = "T1 = int8 uint8; T2 = int8 uint8; T3 = int8 uint8; T4 = int32; x:T1, "
                  "x_scale:float32, x_zero_point:T1, w:T2, w_scale:float32, w_zero_point:T2, "
                  "y_scale:float32, y_zero_point:T3, ?B:T4, ?R:T3, ?R_scale:float32, "
                  "?R_zero_point:T3, ?sum_scale:float32, ?sum_zero_point:T3 -> y:T3"},
    {NULL},
};
